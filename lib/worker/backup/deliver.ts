import { cleanText } from '../../text/clean-text.ts';
import type { KeptArchive } from '../archive/archive.ts';
import { classifyFault, type Fault } from '../base/git-faults.ts';
import type { Source } from '../base/source.ts';
import type { Note, SettledStoring } from '../offsite/sender.ts';
import { type Backup, begin, type DeliveryTargets, remark } from './backup.ts';
import { type Failure, isFailure, type Outcome, type Success } from './outcome.ts';

/** An archive that is pushed together with others. */
export interface Waiting {
  status: 'waiting';
  /** Resolves with the outcome once the stores have settled. Throws whatever stops the run. */
  conclude(): Promise<Outcome>;
}

interface DeliveryOptions extends Pick<Backup, 'tell'> {
  /**
   * Whether the newest result of the repository is a failure. One that is unchanged is then backed up once its archive
   * is delivered. Otherwise it stays unchanged: a place that was added gets a copy of an archive that was reported.
   */
  hasFailed: boolean;
}

/** Delivers an archive to every place that lacks it, including places that an earlier run could not reach. */
export async function deliver(
  targets: DeliveryTargets,
  source: Source,
  made: Success,
  options: DeliveryOptions,
): Promise<Outcome | Waiting> {
  if (made.status === 'empty') return made;
  const status = made.status === 'unchanged' && !options.hasFailed ? 'unchanged' : 'completed';
  const delivered = { ...made, status } as const;
  const pushed = await push(targets, source, made, delivered, options);
  const { offsite } = targets;
  if (offsite === null) return pushed;
  await begin(options, 'storing');
  const note: Note = (level, text) => remark(options, level, text);
  const storings = await offsite.send(source, made, note);
  const conclude = async (): Promise<Outcome> => {
    const settled = await Promise.all(
      storings.map((one) => (one.status === 'waiting' ? one.settled : one)),
    );
    await tellSeen(targets, options, source, made, settled);
    const failure = await tellStored(options, offsite.needed, made, settled);
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
  { destination }: DeliveryTargets,
  source: Source,
  made: Success & KeptArchive,
  delivered: Outcome,
  options: DeliveryOptions,
): Promise<Outcome> {
  if (destination === null) return made;
  await begin(options, 'pushing');
  const pushed = await destination.deliver(source, made);
  const { key, record } = made;
  if (pushed.status === 'there') return made;
  if (pushed.status === 'pushed') {
    await remark(options, 'info', 'pushed to the destination');
    return delivered;
  }
  const errorMessage = cleanText(pushed.reason);
  const fault = pushFault(pushed.reason);
  return { status: pushed.status, errorMessage, archive: { key, record }, fault };
}

function pushFault(reason: string): Fault {
  return { ...classifyFault(reason), kind: 'push', isOverload: false };
}

/**
 * Clears the failures of stores that lack nothing. If there are none, an unchanged repository records nothing about its
 * stores.
 */
async function tellSeen(
  { isFailing }: DeliveryTargets,
  { tell }: DeliveryOptions,
  { name: repository }: Source,
  { record: { versions } }: KeptArchive,
  storings: readonly SettledStoring[],
): Promise<void> {
  const version = versions.at(-1)?.version ?? null;
  for (const { store, status } of storings) {
    if (status !== 'seen' || !isFailing(repository, store)) continue;
    await tell({ type: 'seen', store, version });
  }
}

/** Null if every store already had the archive, `new` if one has it now, and a failure if too few have it. */
async function tellStored(
  options: DeliveryOptions,
  needed: number,
  { key, record: archived }: KeptArchive,
  storings: readonly SettledStoring[],
): Promise<Failure | 'new' | null> {
  const version = archived.versions.at(-1)?.version ?? null;
  const stored = storings.filter(({ status }) => status === 'stored');
  const failed = storings.filter(({ status }) => status === 'failed');
  for (const { store, reason, fault } of [...stored, ...failed]) {
    await options.tell({ type: 'stored', store, version, reason, fault });
  }
  for (const { store, isPush } of stored) {
    await remark(options, 'info', isPush ? `pushed to ${store}` : `stored in ${store}`);
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
    await remark(options, 'warn', isPush ? reason : `not stored: ${reason}`);
  return stored.length > 0 ? 'new' : null;
}

const storeFault: Fault = {
  ...{ kind: 'store', isTransient: false, isOverload: false, retryAfterMs: null },
};
