import { createCallerLimit } from '../caller-concurrency.ts';
import { loadArchiveWork, startArchiveProcess } from './archive-process.ts';
import type { ArchiveWork, ArchiveWorkOptions } from './archive-work.ts';
import { type ArchiveLimits, archiveLimits } from './base/limits.ts';

/** A call that reads an archive. */
export interface ArchiveCall {
  signal: AbortSignal;
  /** Calls of one caller run one after the other. Calls without a caller count as one caller. */
  caller?: string | undefined;
}

/** Where archives are, and how to read them. */
export interface ArchiveAccessOptions extends Omit<ArchiveWorkOptions, 'limits'> {
  /** Default: `archiveLimits`. */
  limits?: Partial<ArchiveLimits>;
  /** Reads archives in a process of their own, so that this one can answer others. Default: false. */
  inOwnProcess?: boolean;
}

/** Reads the archives of one folder. */
export interface ArchiveAccess {
  limits: ArchiveLimits;
  work: ArchiveWork;
  /**
   * Runs work that may be slow when it is the caller's turn, in the order of the calls. Rejects with the signal's
   * reason while it waits; throws RATE_LIMITED if too many calls of the caller wait.
   */
  inTurn<Answer>(call: ArchiveCall, work: () => Promise<Answer>): Promise<Answer>;
}

/** Each call may use all cores and up to 16 GiB of disk, besides what is kept unpacked. */
const TURNS = { total: 4, perCaller: 1, maxWaiting: 100 };

/** Reads archives below one folder. Never writes to it, and never follows links out of it. */
export function createArchiveAccess(options: ArchiveAccessOptions): ArchiveAccess {
  const limits = { ...archiveLimits, ...options.limits };
  const limit = createCallerLimit(TURNS);
  const create = options.inOwnProcess ? startArchiveProcess : loadArchiveWork;
  return {
    limits,
    work: create({ ...options, limits }),
    inTurn: ({ caller = '', signal }, work) => limit(caller, signal, work),
  };
}
