import { describeHolder, type LockHolder } from '../../../processes/lock-holder.ts';
import type { ActiveRun, RunCounters } from '../../../records/recording/runs.ts';
import { counted, countRepositories, firstOf } from '../../../text/units.ts';
import { describeFailures, type FailedRepository, type NeverRead } from './failures.ts';

/** How a run ended, or this worker's part in it. */
export type RunReport = RefusedReport | EndedRun | LeftRun;

interface RefusedReport {
  status: 'refused';
  active: ActiveRun | null;
  /** Why even `--join` does not help; null if another run is simply active. */
  why: string | null;
  /** The worker that uses the same DATA_DIR, if it is known. */
  holder: LockHolder | null;
}

export interface EndedRun {
  status: 'completed' | 'failed';
  /** Null if the database was unreachable from the start and has not come back. */
  id: number | null;
  /** How many repositories there were, without the sources that were never read. */
  total: number;
  counters: RunCounters;
  empty: number;
  /** How many archives are gone that the run does not make again. */
  lost: number;
  failures: FailedRepository[];
  unread: NeverRead[];
  /** Why the run failed, how many repositories failed, or that nothing was archived; empty otherwise. */
  errorMessage: string;
  durationMs: number;
  /** Whether a person or a signal stopped it. */
  isStopped: boolean;
  /** Whether the run waits in a spool for an unreachable database. */
  isSpooled: boolean;
  /** The exit code of a command that performs a single run. */
  exitCode: number;
}

/** A worker that left a run, which its other workers continue. */
export interface LeftRun {
  status: 'left';
  id: number;
  /** This worker's share of the results. */
  counters: RunCounters;
  empty: number;
  failures: FailedRepository[];
  unread: NeverRead[];
  errorMessage: string;
  exitCode: number;
}

/** `run 7`; `run` if it has no number yet. */
export function nameRun(run: { id: number } | null): string {
  return run === null ? 'run' : `run ${run.id}`;
}

/** The messages of a completed run. Its counts include empty repositories as successful. */
export function describeOutcome(
  { successful, failed }: RunCounters,
  { empty, unread }: { empty: number; unread: readonly Pick<NeverRead, 'source'>[] },
) {
  const sources = unread.map(({ source }) => source);
  const failures = [
    ...(failed > 0 ? [`${countRepositories(failed)} failed`] : []),
    ...(unread.length > 0
      ? [`${counted(unread.length, 'source')} could not be read: ${firstOf(sources)}`]
      : []),
  ];
  const emptyOnes = empty > 0 ? [`${countRepositories(empty)} empty, nothing to archive`] : [];
  const archivedNothing = empty === successful ? emptyOnes : [];
  return {
    errorMessage: [...failures, ...archivedNothing].join('; '),
    lastLine: [...failures, ...emptyOnes].join('; '),
  };
}

const SPOOLED =
  'The database is unreachable: this run is spooled in DATA_DIR, and the next run that reaches the database delivers it.';

/** Describes a worker that left while others continue. */
function describeLeft({ id, counters, empty, errorMessage, failures, unread }: LeftRun): string {
  const done = [
    `${counters.successful - empty} backed up`,
    `${counters.skipped} unchanged`,
    `${counters.failed} failed`,
    ...notRead(unread),
  ].join(', ');
  const line = `Left run ${id} (${errorMessage}): ${done} here. Its other workers continue.`;
  return [line, ...describeFailures(failures, unread)].join('\n');
}

function notRead(unread: readonly NeverRead[]): string[] {
  return unread.length === 0 ? [] : [`${counted(unread.length, 'source')} not read`];
}

/** One line about a run for stdout, followed by its failures. */
export function describeReport(report: RunReport): string {
  if (report.status === 'refused') {
    const { active, why, holder } = report;
    const reason = why === null ? '' : `, and ${why}`;
    const refusal =
      active === null
        ? 'No run: another worker is starting, ending, or uses the same DATA_DIR.'
        : `No run: run ${active.id} is active since ${active.startedAt}${reason}.`;
    return holder === null
      ? refusal
      : `${refusal} DATA_DIR is in use by ${describeHolder(holder)}.`;
  }
  if (report.status === 'left') return describeLeft(report);
  const { id, status, total, isSpooled, counters, empty, lost } = report;
  const { errorMessage, durationMs, failures, unread } = report;
  const parts = [
    `${counters.successful - empty} backed up`,
    `${counters.skipped} unchanged`,
    ...(empty > 0 ? [`${empty} empty`] : []),
    `${counters.failed} failed`,
    ...notRead(unread),
    ...(lost > 0 ? [`${counted(lost, 'archive')} of other repositories lost`] : []),
  ];
  const why = status === 'failed' ? ` (${errorMessage})` : '';
  const title = id === null ? 'Run' : `Run ${id}`;
  const seconds = (durationMs / 1_000).toFixed(1);
  const line = `${title} ${status}${why}: ${countRepositories(total)}, ${parts.join(', ')}, in ${seconds} s.`;
  return [line, ...describeFailures(failures, unread), ...(isSpooled ? [SPOOLED] : [])].join('\n');
}
