import { cleanText } from '../../text/clean-text.ts';
import type { KeptArchive } from '../archive/archive.ts';
import { classifyFault, type Fault } from '../base/git-faults.ts';
import { onMachine } from '../base/stop.ts';

/**
 * How the backup of one repository ended, unless it failed. `empty` means no refs at all: a repository with commits
 * only at a detached HEAD has no branches or tags either, but is archived.
 */
export type Success =
  | ({ status: 'unchanged' } & KeptArchive)
  | { status: 'empty' }
  | ({ status: 'completed' } & KeptArchive);

/** How the backup of one repository failed. */
export interface Failure {
  status: 'failed' | 'too_large';
  errorMessage: string;
  /** An archive that was written but not pushed. */
  archive: KeptArchive | null;
  fault: Fault;
  /** Whether its archive was lost, and a new one was made. */
  isRemade?: boolean;
  /** Whether the source was given on the command line and never read: then it is no repository. */
  isUnread?: boolean;
}

/** How the backup of one repository ended. */
export type Outcome = Success | Failure;

/** Whether a repository failed. */
export function isFailure(outcome: Outcome): outcome is Failure {
  return outcome.status === 'failed' || outcome.status === 'too_large';
}

/** A failure; by default one that a retry in this run would not fix. */
export function failure(text: string, fault?: Fault): Failure {
  const lasting = { ...classifyFault(text), isTransient: false, isOverload: false };
  return {
    status: 'failed',
    errorMessage: cleanText(text),
    archive: null,
    fault: fault ?? lasting,
  };
}

/** Adds the name of the machine on which a repository failed, if there are several. */
export function withMachine(outcome: Outcome, hostName: string | null): Outcome {
  if (!isFailure(outcome) || hostName === null) return outcome;
  return { ...outcome, errorMessage: onMachine(outcome.errorMessage, hostName) };
}

/** Adds the number of attempts, if there were several. */
export function withTries(outcome: Outcome, tries: number): Outcome {
  if (!isFailure(outcome) || tries === 1) return outcome;
  return { ...outcome, errorMessage: cleanText(`${outcome.errorMessage} (tried ${tries} times)`) };
}
