import type { Clock } from '../../../clock.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { isFailure } from '../../backup/outcome.ts';
import type { OutputStream } from '../../base/display.ts';
import type { RunReport } from './report.ts';
import type { RunEvents } from './run-events.ts';

/** How often the progress of one repository is printed. */
const PROGRESS_MS = 1_000;

/** Reports a run's progress to a program: one JSON object per line. */
export function createJsonLines(stdout: OutputStream, clock: Clock): Partial<RunEvents> {
  const shownAt = new Map<string, { at: number; phase: string }>();
  const print = (event: string, facts: object) =>
    stdout.write(
      `${JSON.stringify({ event, at: new Date(clock.now()).toISOString(), ...facts })}\n`,
    );
  return {
    began({ id, repositories }) {
      print('run', { run_id: id, total_repos: repositories.length });
    },
    logged({ level, message, repository }) {
      print('log', { level, repository, message });
    },
    working(repository, doing) {
      const progress =
        typeof doing === 'string' ? { phase: doing, percent: null, bytes: null } : doing;
      const last = shownAt.get(repository);
      const isNew = last === undefined || last.phase !== progress.phase;
      if (!isNew && clock.now() - last.at < PROGRESS_MS) return;
      shownAt.set(repository, { at: clock.now(), phase: progress.phase });
      print('progress', { repository, ...progress });
    },
    rested(repository) {
      shownAt.delete(repository);
    },
    ended(repository, outcome, { durationMs, tries }) {
      shownAt.delete(repository);
      const facts = { repository, status: outcome.status, duration_ms: durationMs, tries };
      if (isFailure(outcome)) {
        const { errorMessage, fault } = outcome;
        print('result', { ...facts, error_message: errorMessage, reason: fault.kind });
      } else if (outcome.status === 'empty') print('result', facts);
      else {
        const { key, record } = outcome;
        const archive = { archive_key: key, archive_size_bytes: record.archive_size_bytes };
        print('result', { ...facts, ...archive });
      }
    },
  };
}

/** The last line of a run's JSON. */
export function summaryOf(report: RunReport): string {
  if (report.status === 'refused') {
    const { active, why } = report;
    return JSON.stringify({
      ...{ event: 'summary', status: 'refused', active_run_id: active?.id ?? null },
      ...(why === null ? {} : { error_message: why }),
    });
  }
  const { id, status, counters, empty, errorMessage, failures } = report;
  return JSON.stringify({
    ...{ event: 'summary', status, run_id: id },
    ...(report.status === 'left' ? {} : { total_repos: report.total }),
    ...{ backed_up: counters.successful - empty, unchanged: counters.skipped, empty },
    ...{ failed: counters.failed, error_message: errorMessage },
    ...(report.status === 'left'
      ? {}
      : { duration_ms: report.durationMs, spooled: report.isSpooled }),
    failures: failures.map(({ repository, kind, errorMessage: message }) => ({
      ...{ repository: cleanText(repository), reason: kind, error_message: message },
    })),
  });
}
