import { declaredInterval } from '../../config/freshness.ts';
import type { Statement } from '../../database/database.ts';
import { iso } from '../../records/base/page.ts';
import { formatMinute } from '../../text/format-minute.ts';
import { formatDuration } from '../../text/units.ts';
import type { Rule } from './rule.ts';

/** Shorter runs are no cause for concern. */
const MIN_MS = 30 * 60_000;
/** How long the first run may take whose interval nobody has declared. */
const UNKNOWN_MS = 2 * 60 * 60_000;
/** How often the usual duration. */
const FACTOR = 2;
/** How many completed runs the usual duration is learnt from. */
const RUNS_READ = 10;
/** A run without a sign of life for this long was killed, and is reported as failed. */
const HEARTBEAT_MS = 10 * 60_000;

// A first run that a person started at a terminal is watched by that person, who may stop it.
const limit = `coalesce(usual.ms * ${FACTOR}, $2::float8, nullif(schedule_ms, 0),
  CASE WHEN schedule_ms IS NULL THEN ${UNKNOWN_MS} END)`;

const slow: Statement = {
  name: 'alert_run_slow',
  text: `WITH usual AS (
      SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms) AS ms FROM (
        SELECT duration_ms FROM backup_runs WHERE status = 'completed' AND duration_ms > 0 AND isfinite(started_at)
        ORDER BY started_at DESC, id DESC LIMIT ${RUNS_READ}
      ) AS last
    )
    SELECT id, ${iso('started_at')} AS started_at, usual.ms::bigint::text AS usual_ms,
      (extract(epoch FROM $1::timestamptz - started_at) * 1000)::bigint::text AS active_ms
    FROM backup_runs, usual
    WHERE exclusive_key = 'worker' AND status = 'running' AND isfinite(started_at)
      AND heartbeat_at > $1::timestamptz - ${HEARTBEAT_MS} * interval '1 ms'
      AND $1::timestamptz > started_at
        + greatest(${MIN_MS}, ${limit}) * interval '1 ms'
      AND ${limit} IS NOT NULL`,
};

interface SlowRun {
  id: number;
  started_at: string;
  /** Null if none has completed yet. */
  usual_ms: string | null;
  active_ms: string;
}

function summarize({ id, started_at, usual_ms, active_ms }: SlowRun): string {
  const usually =
    usual_ms === null ? '' : `, and usually takes ${formatDuration(Number(usual_ms))}`;
  return `Run ${id} has been active for ${formatDuration(Number(active_ms))}, since ${formatMinute(started_at)}${usually}: runs that start meanwhile are refused`;
}

/** The active run takes unusually long, and other runs are refused meanwhile. */
export const runSlow: Rule = {
  name: 'run_slow',
  title: 'A backup run takes unusually long',
  severity: 'warning',
  when: 'The active run takes more than twice as long as the last completed ones usually did (the median of ten), and more than 30 minutes. Before any run has completed: longer than BACKUP_EVERY, or the interval of `--every`, or 2 hours if neither is known.',
  advice:
    'Look at its progress and its log. If it is making progress, wait. If not, stop its worker (Ctrl-C, or `kill` and the process that a refused run names), and lower GIT_STALL_SECONDS if a repository held it up.',
  resolved: 'No run takes unusually long now.',
  async find({ db, now, config }) {
    const values = [new Date(now).toISOString(), declaredInterval(config)];
    const rows = await db.query<SlowRun>(slow, values);
    return rows.map((row) => ({
      subject: '',
      summary: summarize(row),
      details: {
        ...{ run_id: row.id, started_at: row.started_at, active_ms: Number(row.active_ms) },
        usual_ms: row.usual_ms === null ? null : Number(row.usual_ms),
      },
    }));
  },
};
