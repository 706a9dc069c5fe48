import { cleanText } from '../../text/clean-text.ts';
import type { KeptArchive } from '../archive/archive.ts';
import type { Destination } from '../destination/open-destination.ts';
import { classifyFault } from '../faults/git-faults.ts';
import type { Journal } from '../journal.ts';
import type { Offsite } from '../offsite/offsite.ts';
import type { RepositoryOutcome } from '../repository/repository-backup.ts';
import type { Source } from '../source.ts';
import { type Failure, isFailure, type Outcome } from './outcome.ts';

/** Where archives are delivered. */
export interface DeliveryContext {
  journal: Journal;
  /** Where archives are pushed, if anywhere. */
  destination: Destination | null;
  /** Where archives are stored besides this machine, if anywhere. */
  offsite: Offsite | null;
}

/** Delivers an archive to every place that lacks it, including one that an earlier run could not deliver. */
export async function deliver(
  context: DeliveryContext,
  source: Source,
  outcome: RepositoryOutcome,
  show: (doing: string) => void,
): Promise<Outcome> {
  if (outcome.status === 'empty') return outcome;
  const pushed = await push(context, source, outcome, show);
  const failure = await store(context, source, outcome, show);
  if (failure === null) return pushed;
  if (failure === 'new') return isFailure(pushed) ? pushed : { ...outcome, status: 'completed' };
  if (!isFailure(pushed)) return failure;
  const errorMessage = cleanText(`${pushed.errorMessage}; ${failure.errorMessage}`);
  return { ...pushed, errorMessage };
}

async function push(
  { destination, journal }: DeliveryContext,
  source: Source,
  outcome: RepositoryOutcome & KeptArchive,
  show: (doing: string) => void,
): Promise<Outcome> {
  if (destination === null) return outcome;
  show('pushing');
  const delivery = await destination.deliver(source, outcome);
  const { key, record } = outcome;
  if (delivery.status === 'there') return outcome;
  if (delivery.status === 'pushed') {
    await journal.note('info', 'pushed to the destination', source.name);
    return { status: 'completed', key, record };
  }
  const errorMessage = cleanText(delivery.reason);
  const why = classifyFault(delivery.reason);
  const fault = { ...why, kind: 'push', isOverload: false } as const;
  return { status: delivery.status, errorMessage, archive: { key, record }, fault };
}

/** Null if every store had it already, `new` if one has it now. A failure if too few have it. */
async function store(
  { offsite, journal }: DeliveryContext,
  source: Source,
  archive: KeptArchive,
  show: (doing: string) => void,
): Promise<Failure | 'new' | null> {
  if (offsite === null) return null;
  show('storing');
  const note = (level: 'info' | 'warn' | 'error', text: string) =>
    journal.note(level, text, source.name);
  const storings = await offsite.send(source, archive, note);
  const version = archive.record.versions.at(-1)?.version ?? null;
  const stored = storings.filter(({ status }) => status === 'stored');
  const failed = storings.filter(({ status }) => status === 'failed');
  for (const { store, reason } of [...stored, ...failed]) {
    await journal.store.write({ type: 'stored', repository: source.name, store, version, reason });
  }
  for (const { store } of stored) await note('info', `stored in ${store}`);
  const reasons = failed.map(({ reason }) => reason).join('; ');
  if (storings.length - failed.length < offsite.needed) {
    const errorMessage = cleanText(`backed up, but not stored away from here: ${reasons}`);
    const fault = {
      kind: 'store',
      isTransient: false,
      isOverload: false,
      retryAfterMs: null,
    } as const;
    const { key, record } = archive;
    return { status: 'failed', errorMessage, archive: { key, record }, fault };
  }
  for (const { reason } of failed) await note('warn', `not stored: ${reason}`);
  return stored.length > 0 ? 'new' : null;
}
