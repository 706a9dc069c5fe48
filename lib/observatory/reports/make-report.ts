import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import { readRunFacts, readRunHistory, readSummaryFacts } from '../../records/report-facts.ts';
import { readErrorLogs, readFailure } from '../../records/run-failures.ts';
import type { FailureFacts } from '../../tools/backup-source.ts';
import type { Content } from './content.ts';
import { describeSummary } from './executive-summary.ts';
import { describeFailure, SHOWN_FAILURES } from './failure-investigation.ts';
import { describeLatestBackup } from './latest-backup.ts';
import type { ReportType } from './report-types.ts';

/** The dependencies that a report is made with. */
export type ReportDeps = Pick<Deps<unknown>, 'db' | 'clock' | 'redactor'>;

/**
 * Makes a report from what the database holds now, redacted. Throws NOT_FOUND
 * for a run that does not exist.
 */
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
    const shown = failures.slice(0, SHOWN_FAILURES).map(({ repository }) => repository);
    const [history, logs] = await Promise.all([
      readRunHistory(db, run_id),
      readErrorLogs(db, run_id, ['', ...shown]),
    ]);
    const shownLogs = new Map(redactor.value([...logs]));
    return describeFailure(redactor.value(facts), shownLogs, redactor.value(history));
  },
};

/** Without a run of its own a report says that there is nothing to tell. */
function requireNoRun(runId: number | undefined): void {
  if (runId !== undefined) throw noSuchRun(runId);
}

function noSuchRun(runId: number | undefined): AppError {
  return new AppError('NOT_FOUND', `run ${runId} does not exist`);
}
