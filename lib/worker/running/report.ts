import type { ActiveRun, RunCounters } from '../../records/recording/runs.ts';
import { countRepositories } from '../text.ts';
import type { FailedRepository } from '../watching/failures.ts';

/** How a run ended, or this worker's part in it. */
export type RunReport = RefusedReport | EndedRun | LeftRun;

interface RefusedReport {
  status: 'refused';
  active: ActiveRun | null;
  /** Why not even `--join` helps; null if another run is simply active. */
  why: string | null;
}

export interface EndedRun {
  status: 'completed' | 'failed';
  /** Null if the database was away from the beginning and has not come back. */
  id: number | null;
  total: number;
  counters: RunCounters;
  empty: number;
  failures: FailedRepository[];
  /** Why the run failed, how many repositories failed, or that nothing was archived; else empty. */
  errorMessage: string;
  durationMs: number;
  /** Whether the run waits in a spool for a database that is away. */
  isSpooled: boolean;
  /** The exit code of a command that performs a single run. */
  exitCode: number;
}

/** A worker that stopped, of a run that others go on with. */
export interface LeftRun {
  status: 'left';
  id: number;
  /** What this worker has done. */
  counters: RunCounters;
  empty: number;
  failures: FailedRepository[];
  errorMessage: string;
  exitCode: number;
}

/** The messages of a completed run. Its counts include empty repositories as successful. */
export function describeOutcome({ successful, failed }: RunCounters, empty: number) {
  const failures = failed > 0 ? [`${countRepositories(failed)} failed`] : [];
  const emptyOnes = empty > 0 ? [`${countRepositories(empty)} empty, nothing to archive`] : [];
  const archivedNothing = empty === successful ? emptyOnes : [];
  return {
    errorMessage: [...failures, ...archivedNothing].join('; '),
    lastLine: [...failures, ...emptyOnes].join('; '),
  };
}
