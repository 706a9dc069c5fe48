import { cleanText } from '../../../text/clean-text.ts';
import type { KeptArchive } from '../../archive/archive.ts';
import type { RepositoryOutcome } from '../../archive/repository-backup.ts';
import { type Failure, isFailure, type Outcome } from '../../backup/outcome.ts';
import { classifyFault, type Fault } from '../../base/git-faults.ts';
import type { Source } from '../../base/source.ts';
import type { Destination } from '../../offsite/destination/open-destination.ts';
import type { Offsite } from '../../offsite/offsite.ts';
import type { Note, SettledStoring } from '../../offsite/sender.ts';
import type { Journal } from '../spool/journal.ts';

/** Where archives are delivered to. */
export interface DeliveryContext {
  journal: Journal;
  /** Where archives are pushed in the layout `files`; null for nowhere. */
  destination: Destination | null;
  /** Where archives are stored besides this machine; null for nowhere. */
  offsite: Offsite | null;
  /** Whether a store may have failed to take a repository at the last attempt. */
  isFailing(repository: string, store: string): boolean;
}

/** An archive that is pushed together with others. */
export interface Waiting {
  status: 'waiting';
  /** Resolves with the outcome once the stores have settled. Throws whatever stops the run. */
  conclude(): Promise<Outcome>;
}

interface DeliveryOptions {
  show(doing: string): void;
  /**
   * Whether the newest result of the repository is a failure. One that is unchanged is then backed up once its archive
   * is delivered. Otherwise it stays unchanged: a place that was added gets a copy of an archive that was reported.
   */
  hasFailed: boolean;
}

/** Delivers an archive to every place that lacks it, including places that an earlier run could not reach. */
export async function deliver(
  context: DeliveryContext,
  source: Source,
  made: RepositoryOutcome,
  { show, hasFailed }: DeliveryOptions,
): Promise<Outcome | Waiting> {
  if (made.status === 'empty') return made;
  const status = made.status === 'unchanged' && !hasFailed ? 'unchanged' : 'completed';
  const delivered = { ...made, status } as const;
  const pushed = await push(context, source, made, delivered, show);
  const { offsite } = context;
  if (offsite === null) return pushed;
  show('storing');
  const note: Note = (level, text) => context.journal.note(level, text, source.name);
  const storings = await offsite.send(source, made, note);
  const conclude = async (): Promise<Outcome> => {
    const settled = await Promise.all(
      storings.map((one) => (one.status === 'waiting' ? one.settled : one)),
    );
    await recordSeen(context, source, made, settled);
    const failure = await record(context.journal, note, offsite.needed, source, made, settled);
    return join(delivered, pushed, failure);
  };
  const isWaiting = storings.some(({ status }) => status === 'waiting');
  return isWaiting ? { status: 'waiting', conclude } : conclude();
}

function join(delivered: Outcome, pushed: Outcome, failure: Failure | 'new' | null): Outcome {
  if (failure === null) return pushed;
  if (failure === 'new') return isFailure(pushed) ? pushed : delivered;
  if (!isFailure(pushed)) return failure;
  const errorMessage = cleanText(`${pushed.errorMessage}; ${failure.errorMessage}`);
  return { ...pushed, errorMessage };
}

async function push(
  { destination, journal }: DeliveryContext,
  source: Source,
  made: RepositoryOutcome & KeptArchive,
  delivered: Outcome,
  show: (doing: string) => void,
): Promise<Outcome> {
  if (destination === null) return made;
  show('pushing');
  const delivery = await destination.deliver(source, made);
  const { key, record } = made;
  if (delivery.status === 'there') return made;
  if (delivery.status === 'pushed') {
    await journal.note('info', 'pushed to the destination', source.name);
    return delivered;
  }
  const errorMessage = cleanText(delivery.reason);
  const fault = pushFault(delivery.reason);
  return { status: delivery.status, errorMessage, archive: { key, record }, fault };
}

function pushFault(reason: string): Fault {
  return { ...classifyFault(reason), kind: 'push', isOverload: false };
}

/**
 * Clears the failures of stores that lack nothing. If there are none, an unchanged repository records nothing about its
 * stores.
 */
async function recordSeen(
  { journal, isFailing }: DeliveryContext,
  { name: repository }: Source,
  { record: { versions } }: KeptArchive,
  storings: readonly SettledStoring[],
): Promise<void> {
  const version = versions.at(-1)?.version ?? null;
  for (const { store, status } of storings) {
    if (status !== 'seen' || !isFailing(repository, store)) continue;
    await journal.store.write({ type: 'seen', repository, store, version });
  }
}

/** Null if every store already had the archive, `new` if one has it now, and a failure if too few have it. */
async function record(
  journal: Journal,
  note: Note,
  needed: number,
  source: Source,
  { key, record: archived }: KeptArchive,
  storings: readonly SettledStoring[],
): Promise<Failure | 'new' | null> {
  const version = archived.versions.at(-1)?.version ?? null;
  const stored = storings.filter(({ status }) => status === 'stored');
  const failed = storings.filter(({ status }) => status === 'failed');
  for (const { store, reason } of [...stored, ...failed]) {
    await journal.store.write({ type: 'stored', repository: source.name, store, version, reason });
  }
  for (const { store, isPush } of stored) {
    await note('info', isPush ? `pushed to ${store}` : `stored in ${store}`);
  }
  const reasons = failed.map(({ reason }) => reason).join('; ');
  if (storings.length - failed.length < needed) {
    const isPush = failed.every((one) => one.isPush);
    const text = isPush ? reasons : `backed up, but not stored off-site: ${reasons}`;
    return {
      ...{ status: 'failed', errorMessage: cleanText(text), archive: { key, record: archived } },
      fault: isPush ? pushFault(reasons) : storeFault,
    };
  }
  for (const { reason, isPush } of failed)
    await note('warn', isPush ? reason : `not stored: ${reason}`);
  return stored.length > 0 ? 'new' : null;
}

const storeFault: Fault = {
  ...{ kind: 'store', isTransient: false, isOverload: false, retryAfterMs: null },
};
