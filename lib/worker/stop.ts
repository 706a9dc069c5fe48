import type { Log } from '../log.ts';
import { cleanText } from '../text/clean-text.ts';

/** Stops a run. The message becomes its error_message. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped';
  /** 4 if the user must log in. */
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
  taken: 'another process ended this run',
} as const;

/** The error_message of a stopped run. An unexpected error is logged with its stack. */
export function describeStop(error: unknown, signal: AbortSignal, log: Log): string {
  const cause = signal.aborted ? signal.reason : error;
  if (cause instanceof RunStopped) return cause.message;
  log.error('a run failed unexpectedly', { error: cause });
  return cleanText(
    `the run failed unexpectedly: ${cause instanceof Error ? cause.message : cause}`,
  );
}
