import { ConfigError } from '../../config/read.ts';
import { messageOf } from '../../errors.ts';
import type { Log } from '../../log/log.ts';
import type { RunFault } from '../../records/runs/run-faults.ts';
import { cleanText, MAX_TEXT_LENGTH } from '../../text/clean-text.ts';

interface StopOptions {
  cause?: unknown;
  /** Default 1. */
  exitCode?: number;
  /** Default: null. */
  stoppedBy?: string | null;
  /** Default: null. */
  fault?: RunFault | null;
}

/** Stops a run. The message becomes its error_message. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped';
  /** 4 if the user must log in. */
  readonly exitCode: number;
  /** The signal that stopped it, such as SIGINT, or `person`; null if nothing did. */
  readonly stoppedBy: string | null;
  /** Why, if other parts ask for it; null for other reasons. */
  readonly fault: RunFault | null;

  constructor(message: string, options: StopOptions = {}) {
    const { cause, exitCode = 1, stoppedBy = null, fault = null } = options;
    super(message, cause === undefined ? undefined : { cause });
    this.exitCode = exitCode;
    this.stoppedBy = stoppedBy;
    this.fault = fault;
  }
}

/** Stops the work of a process that received a signal. */
export function describeInterrupt(signal: string): RunStopped {
  return new RunStopped(`interrupted by ${signal}`, { stoppedBy: signal });
}

/** Stops the work of a process that npm started and that npm has left. No signal has reached it that could be named. */
export function describeLostNpm(): RunStopped {
  return new RunStopped('interrupted: npm, which had started this worker, has ended');
}

/** Stops a run that a person asked to stop. */
export function describeStoppedBy(name: string): RunStopped {
  return new RunStopped(`stopped by ${cleanText(name, 100)}`, { stoppedBy: 'person' });
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

/** Why and how a run was stopped. */
export interface Stop {
  /** Its error_message. */
  message: string;
  exitCode: number;
  /** The signal that stopped it, or `person`; null if nothing did. */
  stoppedBy: string | null;
  /** Why, if other parts ask for it; null for other reasons. */
  fault: RunFault | null;
}

/** What stopped a run. An unexpected error is logged with its stack. */
export function describeStop(error: unknown, signal: AbortSignal, log: Log): Stop {
  const cause = signal.aborted ? signal.reason : error;
  const exitCode = error instanceof RunStopped ? error.exitCode : 1;
  if (cause instanceof RunStopped) {
    const { message, stoppedBy, fault } = cause;
    return { message, exitCode, stoppedBy, fault };
  }
  const unexpected = { exitCode, stoppedBy: null, fault: null };
  // Problems that only show once the stores are read, such as a setting that requires another one.
  if (cause instanceof ConfigError) return { ...unexpected, message: cause.message };
  log.error('a run failed unexpectedly', { error: cause });
  return { ...unexpected, message: cleanText(`the run failed unexpectedly: ${messageOf(cause)}`) };
}
