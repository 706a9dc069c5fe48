import type { Clock } from '../../../clock.ts';
import { cleanText } from '../../../text/clean-text.ts';
import type { OutputStream } from '../../base/display.ts';
import type { Watcher } from '../../base/run-entry.ts';
import type { RunReport } from './report.ts';

/** How often the progress of one repository is printed. */
const PROGRESS_MS = 1_000;

/** Reports a run's progress to a program: one JSON object per line. */
export function createJsonLines(stdout: OutputStream, clock: Clock): Watcher {
  const shownAt = new Map<string, { at: number; phase: string }>();
  const print = (event: string, facts: object) => {
    const at = new Date(clock.now()).toISOString();
    stdout.write(`${JSON.stringify({ event, at, ...facts })}\n`);
  };
  return (entry) => {
    switch (entry.type) {
      case 'began':
        return print('run', { run_id: entry.id, total_repos: entry.repositories.length });
      case 'log': {
        const { level, repository, message } = entry;
        return print('log', { level, repository, message });
      }
      case 'working': {
        const { repository, doing } = entry;
        const progress =
          typeof doing === 'string' ? { phase: doing, percent: null, bytes: null } : doing;
        const last = shownAt.get(repository);
        const isNew = last === undefined || last.phase !== progress.phase;
        if (!isNew && clock.now() - last.at < PROGRESS_MS) return;
        shownAt.set(repository, { at: clock.now(), phase: progress.phase });
        return print('progress', { repository, ...progress });
      }
      case 'resting':
        shownAt.delete(entry.repository);
        return;
      case 'ended': {
        const { repository, status, durationMs, tries, unread, failure, archive } = entry;
        shownAt.delete(repository);
        const time = { duration_ms: durationMs, tries };
        const why = failure && { error_message: failure.errorMessage, reason: failure.kind };
        if (unread !== null) return print('unread', { source: unread, ...time, ...why });
        return print('result', {
          ...{ repository, status, ...time, ...why },
          ...(archive && { archive_key: archive.key, archive_size_bytes: archive.sizeBytes }),
        });
      }
    }
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
  const { id, status, counters, empty, errorMessage, failures, unread } = report;
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
    unread_sources: unread.map(({ source, kind, errorMessage: message }) => ({
      ...{ source, reason: kind, error_message: message },
    })),
  });
}
