import type { Deps } from '../../platform/deps.ts';
import { AppError } from '../../platform/errors.ts';
import { readFailure } from '../../records/failures.ts';
import { readRunFacts, readRunHistory, readSummaryFacts } from '../../records/report-facts.ts';
import type { FailureFacts } from '../../tools/backup-source.ts';
import type { Content } from './content.ts';
import { describeSummary } from './executive-summary.ts';
import { describeFailure } from './failure-investigation.ts';
import { describeLatestBackup } from './latest-backup.ts';
import type { ReportType } from './report-types.ts';

/** The handles that a report is made with. */
export type ReportHandles = Pick<Deps<unknown>, 'db' | 'clock' | 'redactor'>;

/**
 * Makes a report from what the database holds now, in one or two statements, redacted. Throws NOT_FOUND
 * for a run that does not exist.
 */
export function makeReport(
  handles: ReportHandles,
  type: ReportType,
  runId: number | undefined,
): Promise<Content> {
  return makers[type](handles, runId);
}

type MakeContent = (handles: ReportHandles, runId: number | undefined) => Promise<Content>;

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
    const history = facts === null ? [] : await readRunHistory(db, facts.run_id);
    return describeFailure(redactor.value(facts), redactor.value(history));
  },
};

/** Without a run of its own a report says that there is nothing to tell. */
function requireNoRun(runId: number | undefined): void {
  if (runId !== undefined) throw noSuchRun(runId);
}

function noSuchRun(runId: number | undefined): AppError {
  return new AppError('NOT_FOUND', `run ${runId} does not exist`);
}
