import { cleanText } from '../platform/clean-text.ts';
import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';

/** Why a run cannot go on, in words for its error_message. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped';
  /** What the command ends with: 4 when one has to log in (decisions 7). */
  readonly exitCode: number;

  constructor(
    message: string,
    { cause, exitCode = 1 }: { cause?: unknown; exitCode?: number } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
  }
}

export const stopMessages = {
  taken: 'someone else ended this run while it was under way',
  unreachable: 'the database was lost while the run was under way',
} as const;

/**
 * The outcome of `work`, or a rejection with the signal's reason when that aborts first: for work that
 * cannot be told to stop, such as a call to a file system that does not answer.
 */
export async function untilAborted<Value>(
  work: Promise<Value>,
  signal: AbortSignal,
): Promise<Value> {
  const aborted = Promise.withResolvers<never>();
  const abort = () => aborted.reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

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
