import { declaredInterval, type FreshnessConfig } from '../../config/freshness.ts';
import type { Database, Statement } from '../../database/database.ts';
import { iso, jsonArray } from '../../records/base/page.ts';
import {
  failuresSinceGood,
  judgingValues,
  knownRepositories,
  type RepositoryState,
  worstFirst,
} from '../../records/repositories/repository-states.ts';
import { lastEndedRun } from '../../records/runs/last-runs.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';

/** Maximum number of repositories that a rule finds. */
export const MAX_REPOSITORIES = 10_000;

const MAX_REASON_LENGTH = 300;

/** A repository that is not good. */
export interface NotGoodRepository {
  name: string;
  state: Exclude<RepositoryState, 'good'>;
  /** The kind of its last failure; null if that is unknown, or if it does not fail. */
  fault: string | null;
  /** Failures since it was last good, counted up to ALERT_FAILING_AFTER. */
  failures: number;
  failing_since: string | null;
  last_good_at: string | null;
  /** Whether its last good backup, or the first failure of one that never was good, is out of date. */
  is_stale: boolean;
  error: string;
  /**
   * Whether nothing else succeeded in the run of its last failure either, and no run has ended since. A run for a
   * single repository says nothing about the others, so most of all repositories must have failed.
   */
  is_of_failed_run: boolean;
}

const notGood: Statement = {
  name: 'not_good_repositories',
  text: `WITH ${knownRepositories},
    found AS MATERIALIZED (
      SELECT * FROM known AS repository WHERE state <> 'good'
      ORDER BY ${worstFirst} LIMIT ${MAX_REPOSITORIES}
    ),
    failed_run AS MATERIALIZED (
      SELECT id FROM (${lastEndedRun('*')}) AS last
      WHERE coalesce(successful, 0) = 0 AND coalesce(skipped, 0) = 0
        AND failed * 2 > (SELECT count(*) FROM known)
    ),
    judged AS (
      SELECT repository.*,
        (SELECT result.created_at FROM ${failuresSinceGood}
         ORDER BY result.created_at, result.id LIMIT 1) AS failing_since,
        (SELECT count(*) FROM (
          SELECT FROM ${failuresSinceGood} LIMIT $4::int
        ) AS failure)::int AS failures
      FROM found AS repository
    )
    SELECT ${jsonArray(`
      SELECT repo_full_name AS name, state, fault, failures, ${iso('failing_since')} AS failing_since,
        CASE WHEN isfinite(last_good_at) THEN ${iso('last_good_at')} END AS last_good_at,
        coalesce(coalesce(last_good_at, failing_since) < (SELECT fresh_since FROM judging), false) AS is_stale,
        coalesce((SELECT ${cutTextSql('result.error_message', MAX_REASON_LENGTH)}
          FROM backup_results AS result WHERE result.id = repository.result_id), '') AS error,
        EXISTS (SELECT FROM backup_results AS result JOIN failed_run ON failed_run.id = result.run_id
          WHERE result.id = repository.result_id) AS is_of_failed_run
      FROM judged AS repository ORDER BY repo_full_name`)} AS items`,
};

/** The repositories that are not good, by name: at most MAX_REPOSITORIES of them, the worst. */
export async function readNotGood(
  db: Database,
  now: number,
  config: FreshnessConfig & { ALERT_FAILING_AFTER: number },
): Promise<NotGoodRepository[]> {
  const { FRESHNESS_HOURS: freshnessHours } = config;
  const scheduleMs = declaredInterval(config);
  const judging = judgingValues({ now: new Date(now).toISOString(), freshnessHours, scheduleMs });
  const [row] = await db.query<{ items: string }>(notGood, [
    ...judging,
    config.ALERT_FAILING_AFTER,
  ]);
  return JSON.parse(row?.items ?? '[]') as NotGoodRepository[];
}
