import { ConfigError } from '../../config/read.ts';
import { messageOf } from '../../errors.ts';
import type { Log } from '../../log/log.ts';
import { cleanText, MAX_TEXT_LENGTH } from '../../text/clean-text.ts';

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

/** Stops a worker whose login the git host refuses, and leaves the repositories that need it to others. */
export function describeRefusedLogin(hostUrl: string, cause: unknown): RunStopped {
  const text = `${hostUrl} refuses the login of this machine: log in again there`;
  return new RunStopped(text, { cause });
}

/** Adds the machine on which something happened, for runs on several machines. */
export function onMachine(message: string, hostName: string): string {
  const where = ` (on ${hostName})`;
  return `${cleanText(message, MAX_TEXT_LENGTH - where.length)}${where}`;
}

/** The error_message of a stopped run. An unexpected error is logged with its stack. */
export function describeStop(error: unknown, signal: AbortSignal, log: Log): string {
  const cause = signal.aborted ? signal.reason : error;
  if (cause instanceof RunStopped) return cause.message;
  // Problems that only show once the stores are read, such as a setting that requires another one.
  if (cause instanceof ConfigError) return cause.message;
  log.error('a run failed unexpectedly', { error: cause });
  return cleanText(`the run failed unexpectedly: ${messageOf(cause)}`);
}
