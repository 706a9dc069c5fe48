import { AppError } from '../../errors.ts';
import type { OpenArchive } from '../base/open-archive.ts';
import { chooseVersion } from './choose-version.ts';
import type { Chain } from './read-chain.ts';
import { readManifest } from './read-manifests.ts';
import { onlyRef, refsOfBundle, refsOfManifest, type VersionRefs } from './version-refs.ts';

/** Which files of an archive are read. */
export interface TipChoice {
  /** The number of a version; the newest by default. */
  version?: number | undefined;
  /** A branch or tag of that version, by its full or short name; the default branch by default. */
  ref?: string | undefined;
}

/** The refs of a version, and its number and time; null for an archive of an earlier release. */
export interface ReadVersion {
  refs: VersionRefs;
  version: number | null;
  at: string;
}

/** Reads the refs of a version. Throws NOT_FOUND, and ArchiveFault for a manifest that is missing or altered. */
export async function readVersion(
  archive: OpenArchive,
  chain: Chain,
  version: number | undefined,
): Promise<ReadVersion> {
  const entry = chooseVersion(archive, version === undefined ? 'newest' : { version });
  if (entry === null) {
    const at = new Date(archive.modifiedAt).toISOString();
    return { refs: refsOfBundle(chain), version: null, at };
  }
  const refs = refsOfManifest(await readManifest(archive, entry));
  return { refs, version: entry.version, at: entry.at };
}

/** The object whose files are read. Throws NOT_FOUND if there is none, and ArchiveFault. */
export async function findTip(
  archive: OpenArchive,
  chain: Chain,
  { version, ref }: TipChoice,
): Promise<string> {
  // The newest version needs no manifest, so it can be read although that is lost.
  if (version === undefined && ref === undefined) return defaultBranch(refsOfNewest(chain));
  const { refs } = await readVersion(archive, chain, version);
  return tipOf(refs, ref);
}

/** The object of a branch or tag, by default of the default branch. Throws NOT_FOUND. */
export function tipOf(refs: VersionRefs, ref: string | undefined): string {
  if (ref === undefined) return defaultBranch(withHead(refs));
  const [id] = onlyRef(refs, ref).refs.values();
  if (id === undefined) throw new Error('the ref has no object');
  return id;
}

function refsOfNewest({ refs }: Chain): Map<string, string> {
  const found = new Map<string, string>();
  for (const { name, id } of refs) if (!found.has(name)) found.set(name, id);
  return found;
}

function withHead({ refs, head }: VersionRefs): ReadonlyMap<string, string> {
  const id = 'id' in head ? head.id : refs.get(head.branch);
  return id === undefined ? refs : new Map([['HEAD', id], ...refs]);
}

/** HEAD, else main, else master, else the first branch. */
function defaultBranch(refs: ReadonlyMap<string, string>): string {
  const first = [...refs.keys()].find((name) => name.startsWith('refs/heads/'));
  const id = ['HEAD', 'refs/heads/main', 'refs/heads/master', first ?? 'HEAD']
    .map((name) => refs.get(name))
    .find((found) => found !== undefined);
  if (id !== undefined) return id;
  throw new AppError('NOT_FOUND', 'the bundle has neither HEAD nor a branch');
}
