import { z } from 'zod';
import { runFailed } from '../../lib/alerts/rules/run-failed.ts';
import { runMissed } from '../../lib/alerts/rules/run-missed.ts';
import type { Database } from '../../lib/database/database.ts';
import { readMetricsOfRuns } from '../../lib/records/prometheus/runs.ts';
import { judgingNow } from '../../lib/records/repositories/repository-states.ts';
import { listRuns } from '../../lib/records/runs/runs.ts';
import { cleanText } from '../../lib/text/clean-text.ts';
import { formatMinute } from '../../lib/text/format-minute.ts';
import { counted, countRepositories } from '../../lib/text/units.ts';
import { READ_WITHIN_MS } from './measuring.ts';
import { type Check, failed, off, ok, toCheck, warning } from './report.ts';
import { checkWithRules, findByRule } from './rules.ts';
import type { Subject } from './subject.ts';

/** Enough to find the last finished run behind runs that were stopped. */
const MAX_RUNS = 10;

const runs = z.array(
  z.object({
    ...{ id: z.number(), status: z.string(), is_stopped: z.boolean(), error_message: z.string() },
    ...{ started_at: z.string(), completed_at: z.string().nullable(), failed: z.number() },
    unread_sources: z.array(z.unknown()),
  }),
);
type Run = z.output<typeof runs>[number];

/** Checks how the last run ended, and whether the next one is overdue. A stopped run says nothing about the backups. */
export async function checkLastRun(subject: Subject, db: Database): Promise<Check> {
  const found = await checkWithRules(subject, db, async (deps) => {
    const { clock } = deps;
    const judging = judgingNow(deps);
    const [{ items }, { expected_at }, broken, missed] = await Promise.all([
      listRuns(db, { page: 1, limit: MAX_RUNS }),
      readMetricsOfRuns(db, judging, READ_WITHIN_MS),
      findByRule(runFailed, deps),
      findByRule(runMissed, deps),
    ]);
    const newest = runs.parse(JSON.parse(items));
    const ended = newest.filter(({ status }) => status !== 'running');
    const last = ended.find(({ is_stopped }) => !is_stopped) ?? ended[0];
    const detail = [
      ...(last === undefined ? [] : [describe(last)]),
      ...newest
        .filter(({ status }) => status === 'running')
        .slice(0, 1)
        .map(describe),
      ...(missed[0] === undefined
        ? describeNext(expected_at, clock.now())
        : [cleanText(missed[0].summary, 300)]),
    ].join('; ');
    if (broken.length > 0) return failed(detail, runFailed.advice, { effect: 'none' });
    if (missed.length > 0) return failed(detail, runMissed.advice, { effect: 'none' });
    if (last === undefined) {
      if (newest.length > 0) return ok(detail);
      const none = ['no run yet', ...describeNext(expected_at, clock.now())].join('; ');
      return off(none, 'npm run worker -- run', { effect: 'none' });
    }
    if (last.status === 'failed' || last.failed > 0 || last.unread_sources.length > 0) {
      return warning(detail, "the run's page says what failed, and what to do");
    }
    return ok(detail);
  });
  return toCheck('last_run', found);
}

function describe({ id, status, is_stopped, error_message, ...run }: Run): string {
  if (status === 'running')
    return `run ${id} has been under way since ${formatMinute(run.started_at)}`;
  const at = formatMinute(run.completed_at ?? run.started_at);
  if (is_stopped) return `run ${id} was stopped ${at}`;
  const reason = error_message === '' ? 'no reason was recorded' : cleanText(error_message, 300);
  if (status === 'failed') return `run ${id} failed ${at}: ${reason}`;
  const { failed, unread_sources: unread } = run;
  const faults = [
    ...(failed > 0 ? [`${countRepositories(failed)} failed`] : []),
    ...(unread.length > 0 ? [`${counted(unread.length, 'source')} could not be read`] : []),
  ];
  const how = faults.length === 0 ? ' without failures' : `, but ${faults.join(' and ')}`;
  return `run ${id} ended ${at}${how}`;
}

function describeNext(expectedAt: number | null, now: number): string[] {
  if (expectedAt === null) return [];
  const isLate = expectedAt * 1_000 < now;
  const at = formatMinute(new Date(expectedAt * 1_000).toISOString());
  return [`the next one ${isLate ? 'was' : 'is'} expected ${at}`];
}
