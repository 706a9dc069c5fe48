import { AppError } from '../../errors.ts';
import type { Deps } from '../../http/deps.ts';
import { readRunFacts, readRunHistory, readSummaryFacts } from '../../records/report-facts.ts';
import { readErrorLogs, readFailure } from '../../records/runs/run-failures.ts';
import type { FailureFacts } from '../../tools/backup-source.ts';
import { describeSummary } from './executive-summary.ts';
import { describeFailure, MAX_SHOWN_FAILURES } from './failure-investigation.ts';
import { describeLatestBackup } from './latest-backup.ts';
import type { Content } from './render-html.ts';

/** The reports that are made from live data. */
export const reportTypes = ['latest_backup', 'executive_summary', 'failure_investigation'] as const;

export type ReportType = (typeof reportTypes)[number];

/** Whether this type of report can be made. */
export function isReportType(name: string): name is ReportType {
  return (reportTypes as readonly string[]).includes(name);
}

/** The dependencies for making a report. */
export type ReportDeps = Pick<Deps<unknown>, 'db' | 'clock' | 'redactor'>;

/** Makes a redacted report from the current data. Throws NOT_FOUND for a run that does not exist. */
export function makeReport(
  deps: ReportDeps,
  type: ReportType,
  runId: number | undefined,
): Promise<Content> {
  return makers[type](deps, runId);
}

type MakeContent = (deps: ReportDeps, runId: number | undefined) => Promise<Content>;

const makers: Record<ReportType, MakeContent> = {
  async latest_backup({ db, redactor }, runId) {
    const facts = await readRunFacts(db, runId);
    if (facts === null) requireNoRun(runId);
    return describeLatestBackup(redactor.value(facts));
  },
  async executive_summary({ db, clock, redactor }, runId) {
    const facts = await readSummaryFacts(db, { now: clock.now(), runId });
    if (facts === null) throw noSuchRun(runId);
    return describeSummary(redactor.value(facts));
  },
  async failure_investigation({ db, redactor }, runId) {
    const item = await readFailure(db, runId);
    if (item === null) requireNoRun(runId);
    const facts: FailureFacts | null = item === null ? null : JSON.parse(item);
    if (facts === null) return describeFailure(null, new Map(), []);
    const { run_id, failures } = facts;
    const shown = failures.slice(0, MAX_SHOWN_FAILURES).map(({ repository }) => repository);
    const [history, logs] = await Promise.all([
      readRunHistory(db, run_id),
      readErrorLogs(db, run_id, ['', ...shown]),
    ]);
    const shownLogs = new Map(redactor.value([...logs]));
    return describeFailure(redactor.value(facts), shownLogs, redactor.value(history));
  },
};

/** Without a run id, a report without data says so; with one, the run must exist. */
function requireNoRun(runId: number | undefined): void {
  if (runId !== undefined) throw noSuchRun(runId);
}

function noSuchRun(runId: number | undefined): AppError {
  return new AppError('NOT_FOUND', `run ${runId} does not exist`);
}
