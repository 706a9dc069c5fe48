import type { Statement } from '../../database/database.ts';
import { iso } from '../../records/page.ts';
import { learntInterval } from '../../records/runs/learnt-interval.ts';
import { lastStartedRun } from '../../records/runs/stopped-runs.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { formatDuration } from '../../text/units.ts';
import type { Rule } from './rule.ts';

/** This many gaps between runs, if they are alike, make a schedule that is worth an alert. */
const MIN_GAPS = 5;
/** Runs that follow one another faster were started by hand. */
const MIN_LEARNT_MS = 15 * 60_000;
/** A run may be late by a twelfth of the interval, and by this much at least. */
const MIN_GRACE_MS = 15 * 60_000;

// A run that somebody stopped did not do what was due, so it counts as not started.
const missed: Statement = {
  name: 'alert_run_missed',
  text: `WITH last AS (${lastStartedRun}), learnt AS (
      SELECT median_ms AS interval_ms FROM (${learntInterval}) AS learnt
      WHERE gaps >= ${MIN_GAPS} AND median_ms >= ${MIN_LEARNT_MS} AND is_even
    ), schedule AS (
      SELECT $2::float8 AS interval_ms WHERE $2::float8 IS NOT NULL
      UNION ALL SELECT interval_ms FROM learnt WHERE $2::float8 IS NULL
    )
    SELECT id, ${iso('started_at')} AS started_at, interval_ms::bigint::text AS interval_ms,
      ${iso("(started_at + interval_ms * interval '1 ms')")} AS expected_at
    FROM last, schedule
    WHERE status <> 'running' AND $1::timestamptz >
      started_at + (interval_ms + greatest(interval_ms / 12, ${MIN_GRACE_MS})) * interval '1 ms'`,
};

interface MissedRun {
  id: number;
  started_at: string;
  interval_ms: string;
  expected_at: string;
}

/** No run started when one was due. */
export const runMissed: Rule = {
  name: 'run_missed',
  title: 'A backup run did not start',
  severity: 'critical',
  when: 'No run has started for longer than BACKUP_EVERY and a twelfth of it (15 minutes at least). One that was stopped with Ctrl-C or SIGTERM does not count. Without BACKUP_EVERY the interval is learnt from the last runs, once six of them were evenly apart.',
  advice:
    'Check what starts the worker (cron, a timer, `--every`) and its output, then run `npm run worker -- run`.',
  resolved: 'A run has started since, or the next one is due later.',
  async find({ db, now, config }) {
    const values = [new Date(now).toISOString(), config.BACKUP_EVERY ?? null];
    const rows = await db.query<MissedRun>(missed, values);
    return rows.map(({ id, started_at, interval_ms, expected_at }) => ({
      subject: '',
      summary: `Runs start every ${formatDuration(Number(interval_ms))}, but run ${id} of ${formatMinute(started_at)} was the last one: is the worker still there?`,
      details: { run_id: id, started_at, interval_ms: Number(interval_ms), expected_at },
    }));
  },
};
