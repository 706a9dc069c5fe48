import { declaredInterval } from '../../config/freshness.ts';
import type { Statement } from '../../database/database.ts';
import { iso } from '../../records/base/page.ts';
import { GRACE_IN_WORDS, graceMs, MIN_GRACE_MINUTES } from '../../records/runs/grace.ts';
import { lastStartedRun } from '../../records/runs/last-runs.ts';
import {
  finishedRuns,
  hasSchedule,
  learntInterval,
  workerInterval,
} from '../../records/runs/learnt-interval.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { formatDuration } from '../../text/units.ts';
import { START_A_RUN } from './advice.ts';
import type { Rule } from './rule.ts';

/** This many gaps between runs, if they are alike, show a schedule that is worth an alert. */
const MIN_GAPS = 5;

// A run that was stopped on purpose did not do what was due, so it counts as not started. If none ever started, the
// first one was due an interval after the first evaluation: that schedule is a declared one, since others are learnt
// from runs.
const missed: Statement = {
  name: 'alert_run_missed',
  text: `WITH last AS (${lastStartedRun}), ${finishedRuns}, learnt AS (
      SELECT median_ms AS interval_ms FROM (${learntInterval}) AS learnt
      WHERE gaps >= ${MIN_GAPS} AND is_even
    ), declared AS (
      SELECT $2::float8 AS interval_ms WHERE $2::float8 IS NOT NULL
      UNION ALL SELECT interval_ms FROM (${workerInterval}) AS worker WHERE $2::float8 IS NULL
    ), schedule AS (
      SELECT interval_ms FROM declared
      UNION ALL SELECT interval_ms FROM learnt WHERE NOT EXISTS (SELECT FROM declared)
    ), planned AS (
      SELECT min(next_at) AS expected_at FROM schedules
      WHERE sources IS NULL AND paused_at IS NULL HAVING count(next_at) > 0
    ), counted AS (
      SELECT id, started_at, started_at AS since FROM last WHERE status <> 'running'
      UNION ALL SELECT NULL, NULL, evaluated_at FROM alert_evaluation WHERE id = 1 AND NOT EXISTS (SELECT FROM last)
    )
    SELECT id, ${iso('started_at')} AS started_at, ${iso('since')} AS since, interval_ms::bigint::text AS interval_ms,
      ${iso('expected_at')} AS expected_at
    FROM counted, schedule, LATERAL (
      SELECT coalesce((SELECT expected_at FROM planned), since + interval_ms * interval '1 ms') AS expected_at
    ) AS due
    WHERE $1::timestamptz > expected_at + ${graceMs('interval_ms')} * interval '1 ms'
      AND since < expected_at
      AND (NOT ${hasSchedule} OR EXISTS (SELECT FROM planned))`,
};

interface MissedRun {
  /** Null if none ever started. */
  id: number | null;
  started_at: string | null;
  since: string;
  interval_ms: string;
  expected_at: string;
}

function summarize({ id, since, interval_ms }: MissedRun): string {
  const schedule = `Runs start every ${formatDuration(Number(interval_ms))}, but`;
  return id === null
    ? `${schedule} none has started since ${formatMinute(since)}: is there a worker?`
    : `${schedule} run ${id} of ${formatMinute(since)} was the last one: is the worker still running?`;
}

/** No run started when one was due. */
export const runMissed: Rule = {
  name: 'run_missed',
  title: 'A backup run did not start',
  severity: 'critical',
  when: `No run has started when one was due by the schedules of the server, or for longer than BACKUP_EVERY or the interval of \`--every\`, plus ${GRACE_IN_WORDS} of it (at least ${MIN_GRACE_MINUTES} minutes). A paused schedule is not missed. One that was stopped on the page, with Ctrl-C or SIGTERM does not count. If none ever started, it counts from the first time that the rules were evaluated. Without either, the interval is learnt from the last runs, once six of them were evenly spaced; runs that follow each other within 15 minutes or were started in a terminal do not count.`,
  advice: `Check what starts the worker (\`npm start\`, cron, a timer, \`--every\`) and its output, then ${START_A_RUN}.`,
  resolved: 'A run has started since, or none is due now.',
  async find({ db, now, config }) {
    const values = [new Date(now).toISOString(), declaredInterval(config)];
    const rows = await db.query<MissedRun>(missed, values);
    return rows.map((row) => ({
      subject: '',
      summary: summarize(row),
      details: {
        ...{ run_id: row.id, started_at: row.started_at },
        ...{ interval_ms: Number(row.interval_ms), expected_at: row.expected_at },
      },
    }));
  },
};
