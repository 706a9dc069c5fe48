import { isLoopbackHost } from '../../text/network.ts';
import type { Source } from '../base/source.ts';

/**
 * The sources, longest first, so that no long one is left running alone at the end: those never backed up, by the size
 * that the git host reports, then the others by their last duration.
 */
export function longestFirst(
  sources: readonly Source[],
  durations: ReadonlyMap<string, number>,
): Source[] {
  const weight = ({ name }: Source) => durations.get(name) ?? Number.POSITIVE_INFINITY;
  const size = ({ host }: Source) => host?.sizeBytes ?? 0;
  return [...sources].sort((a, b) => {
    const [first, second] = [weight(a), weight(b)];
    return first === second ? size(b) - size(a) : second - first;
  });
}

/** The host that git contacts for a source, in lower case; null for a local folder. */
export function hostOf({ isLocal, location }: Source): string | null {
  if (isLocal) return null;
  if (URL.canParse(location)) {
    const { host } = new URL(location);
    if (host !== '') return host.toLowerCase();
  }
  // `user@host:path`, whose host may be an IPv6 address in brackets.
  const [, host = location] = /^(?:[^@/]*@)?(\[[^\]]*\]|[^:/]+):/.exec(location) ?? [];
  return host.toLowerCase();
}

/** Whether only this machine has the source: a folder, or an address of this machine. */
export function isOnThisMachine(source: Source): boolean {
  const host = hostOf(source);
  return host === null || isLoopbackHost(host.replace(/:\d+$/, ''));
}
