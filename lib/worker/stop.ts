import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import { cleanText } from './text.ts';

/** Why a run cannot go on, in words for its error_message. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped';
}

export const stopMessages = {
  taken: 'someone else ended this run while it was under way',
  unreachable: 'the database was lost while the run was under way',
} as const;

/** The error_message of a run that could not go on. A fault of ours is logged with its stack. */
export function describeStop(error: unknown, signal: AbortSignal, log: Log): string {
  const cause = signal.aborted ? signal.reason : error;
  if (cause instanceof RunStopped) return cause.message;
  if (cause instanceof AppError && cause.code === 'SERVICE_UNAVAILABLE') {
    return stopMessages.unreachable;
  }
  log.error('a run failed unexpectedly', { error: cause });
  return cleanText(
    `the run failed unexpectedly: ${cause instanceof Error ? cause.message : cause}`,
  );
}
