import type { Database, Statement } from '../database/database.ts';
import { cutTextSql } from '../security/redaction/cut-text.ts';
import { iso, jsonObject, readObject } from './base/page.ts';
import { standingFailures } from './drills/newest-drill.ts';
import {
  MAX_MOST_NEEDED,
  mostNeededProofs,
  PROOF_DAYS,
  proofCounts,
  proofStates,
} from './drills/states.ts';
import { archiveBytesSql } from './repositories/archive-bytes.ts';
import { offSiteCopies, offSiteStates } from './repositories/off-site.ts';
import {
  JUDGED_AT,
  type Judging,
  judgingValues,
  knownRepositories,
  repositoryColumns,
  stateCountsSql,
  worstFirst,
} from './repositories/repository-states.ts';
import { graceMs, learntGraceMs } from './runs/grace.ts';
import { isStoppedRun, lastFinishedRun, lastGoodRun } from './runs/last-runs.ts';
import { nextRunAt } from './runs/next-run.ts';
import { runColumns, runStatusSql } from './runs/runs.ts';

/** How many of the worst repositories are listed. */
export const MAX_WORST = 20;

const MAX_REASON_LENGTH = 1_000;

/** SQL for a row that counts the archives of `known` by what the stores in use have of them; NULL without a store. */
const offSite = `(SELECT row_to_json(item) FROM (
    SELECT (SELECT count(DISTINCT store) FROM archive_stores WHERE unused_since IS NULL) AS stores, count(*) AS repositories,
      ${offSiteStates.map((state) => `count(*) FILTER (WHERE is_${state}) AS ${state}`).join(', ')}
    FROM (${offSiteCopies('known')}) AS copies
  ) AS item WHERE EXISTS (SELECT FROM archive_stores WHERE unused_since IS NULL))`;

const overview: Statement = {
  name: 'overview',
  text: `WITH ${knownRepositories},
    failures AS MATERIALIZED (${standingFailures(JUDGED_AT)}),
    proof_states AS MATERIALIZED (${proofStates('known', JUDGED_AT, JUDGED_AT, 'failures')}),
    next_run AS MATERIALIZED (
      SELECT ${nextRunAt} AS expected_at, coalesce((SELECT
        CASE WHEN is_declared THEN ${graceMs('interval_ms')} ELSE ${learntGraceMs('interval_ms')} END FROM usual
      ), ${graceMs('0')}) AS grace_ms
    )
    SELECT ${jsonObject(`
      SELECT
        (SELECT row_to_json(item) FROM (
          ${stateCountsSql('known')}
        ) AS item) AS repositories,
        (SELECT coalesce(json_agg(item), '[]') FROM (
          SELECT ${repositoryColumns} FROM (
            SELECT * FROM known AS repository WHERE state <> 'good'
            ORDER BY ${worstFirst} LIMIT ${MAX_WORST}
          ) AS repository ORDER BY ${worstFirst}
        ) AS item) AS worst,
        (SELECT row_to_json(item) FROM (
          SELECT counts.*, ${mostNeededProofs('proof_states', MAX_MOST_NEEDED)} AS most_needed
          FROM (${proofCounts('proof_states')}) AS counts
        ) AS item) AS proofs,
        (SELECT coalesce(json_agg(item), '[]') FROM (
          SELECT repo_full_name AS full_name, ${iso('failure.started_at')} AS at, failure.storage, failure.version,
            ${cutTextSql('failure.reason', MAX_REASON_LENGTH)} AS reason
          FROM failures AS failure
          JOIN known ON lower(repo_full_name) = failure.key ORDER BY repo_full_name LIMIT ${MAX_WORST}
        ) AS item) AS failed_drills,
        ${offSite} AS off_site,
        (SELECT coalesce(sum(${archiveBytesSql}), 0) FROM known AS repository) AS current_archive_bytes,
        (SELECT row_to_json(item) FROM (
          ${lastGoodRun(`id, ${iso('started_at')} AS started_at`)}
        ) AS item) AS last_good_run,
        (SELECT row_to_json(item) FROM (
          ${lastFinishedRun(`id, ${runStatusSql} AS status, ${isStoppedRun} AS is_stopped`)}
        ) AS item) AS last_finished_run,
        (SELECT row_to_json(item) FROM (
          SELECT ${runColumns} FROM backup_runs AS run WHERE status = 'running'
          ORDER BY run.started_at DESC, run.id DESC LIMIT 1
        ) AS item) AS running,
        (SELECT ${iso('expected_at')} FROM next_run) AS next_run_expected_at,
        (SELECT ${iso("(expected_at + grace_ms * interval '1 ms')")} FROM next_run) AS next_run_late_at,
        EXISTS (SELECT FROM schedules WHERE paused_at IS NULL) AS is_scheduled,
        $4::boolean AS runs_start_here,
        (SELECT interval_ms::bigint FROM usual) AS usual_interval_ms,
        coalesce((SELECT is_declared FROM usual), false) AS is_interval_declared,
        (SELECT fresh_hours FROM judging) AS freshness_hours, ${PROOF_DAYS} AS proof_days,
        (SELECT row_to_json(item) FROM (
          SELECT count(*) AS open, count(*) FILTER (WHERE acknowledged_at IS NULL) AS unacknowledged
          FROM incidents AS incident WHERE resolved_at IS NULL
        ) AS item) AS incidents`)} AS item`,
};

/**
 * Reads what a person wants to know first, as JSON: whether everything is backed up, and what is running.
 * `runsStartHere`: whether this server starts runs itself.
 */
export async function readOverview(
  db: Database,
  judging: Judging,
  runsStartHere = false,
): Promise<string> {
  const item = await readObject(db, overview, [...judgingValues(judging), runsStartHere]);
  if (item === null) throw new Error('the overview returned no row');
  return item;
}
