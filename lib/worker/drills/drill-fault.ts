import { ArchiveFault, NoArchive } from '../../archives/base/archive-fault.ts';
import { DrillIncomplete } from '../../drills/prove-restored.ts';
import { AppError, messageWithCause } from '../../errors.ts';
import { isSystemError } from '../../files.ts';
import type { DrillOutcome } from '../../records/drills/new-drill.ts';
import { StoreFault } from '../../stores/base/object-store.ts';
import { cleanText } from '../../text/clean-text.ts';
import { NotInStore, UnfitObject } from '../restore/store-faults.ts';

/** The budget of a drill is used up. */
export class BudgetUsed extends Error {
  override readonly name = 'BudgetUsed';
}

/** Why a drill proves nothing. */
export interface DrillFault {
  outcome: Exclude<DrillOutcome, 'proven'>;
  reason: string;
  /** Whether there is no archive. */
  isMissing: boolean;
  /** Whether other drills from the same store are likely to fail too. */
  isOfStore: boolean;
  /** Whether the store does not exist, so that no other drill can restore from it. */
  isStoreGone: boolean;
}

const NO_IDENTITY =
  'it is encrypted, and this worker has no identity that decrypts it: run `npm run worker -- drill --identity FILE` on a machine that has it';

/**
 * Distinguishes an archive that cannot be restored (`failed`) from a drill that could not find out (`incomplete`) for
 * lack of time, space, network, credentials or an identity. Null for an unexpected error.
 */
export function describeFault(error: unknown): DrillFault | null {
  const fault = (
    outcome: DrillFault['outcome'],
    reason: string,
    more: Partial<DrillFault> = {},
  ) => ({
    ...{ outcome, reason: cleanText(reason), isMissing: false, isOfStore: false },
    isStoreGone: false,
    ...more,
  });
  // An identity that cannot decrypt one archive is unlikely to decrypt the next.
  const locked = fault('incomplete', NO_IDENTITY, { isOfStore: true });
  if (error instanceof BudgetUsed || error instanceof DrillIncomplete) {
    return fault('incomplete', error.message);
  }
  if (error instanceof ArchiveFault) return fault('failed', error.message);
  if (error instanceof NoArchive) return fault('failed', error.message, { isMissing: true });
  if (error instanceof UnfitObject) {
    if (error.kind === 'locked') return locked;
    return fault(error.kind === 'refused' ? 'incomplete' : 'failed', error.message);
  }
  if (error instanceof NotInStore) {
    return error.hasUnread ? locked : fault('failed', error.message, { isMissing: true });
  }
  if (isSystemError(error)) {
    return fault('incomplete', `DATA_DIR cannot be used: ${error.message}`);
  }
  if (!(error instanceof AppError)) return null;
  const { cause, message } = error;
  if (cause instanceof StoreFault) {
    // A disk that is not mounted says nothing about its archives. Runs report the store, once for all its repositories.
    const outcome = cause.kind === 'damaged' ? 'failed' : 'incomplete';
    return fault(outcome, message, { isOfStore: true, isStoreGone: cause.kind === 'missing' });
  }
  const why = messageWithCause(error);
  if (error.code === 'SERVICE_UNAVAILABLE') return fault('incomplete', why);
  return error.code === 'CONFLICT' || error.code === 'NOT_FOUND' ? fault('failed', why) : null;
}
