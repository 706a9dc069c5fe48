import type { Database, Statement } from '../../database/database.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { newestResults } from '../base/newest-results.ts';
import { iso, jsonArray, jsonObject, type PageRequest, pageOffset } from '../base/page.ts';
import { coveragePlans } from '../recording/plans.ts';
import {
  type Judging,
  judgingBy,
  judgingValues,
  withStates,
} from '../repositories/repository-states.ts';

/**
 * Why a repository that the login can see has no fresh backup: why the run skipped it, or what became of it.
 * `no_permission`: the git host refused the login. `pending`: no run has tried it yet.
 */
export const coverageGaps = [
  ...coveragePlans.filter((plan) => plan !== 'taken'),
  'empty',
  'no_permission',
  'failing',
  'never',
  'gone',
  'stale',
  'pending',
] as const;

const MAX_REASON_LENGTH = 1_000;

const coverage: Statement = {
  name: 'coverage',
  text: `WITH ${newestResults},
    ${judgingBy('$3', '$4', '$5')},
    known AS (
      SELECT DISTINCT ON (lower(repo_full_name)) * FROM (${withStates('newest')}) AS known
      ORDER BY lower(repo_full_name), created_at DESC, result_id DESC
    ),
    seen AS MATERIALIZED (
      SELECT name, run_id, seen_at, plan, reason, state, last_good_at, result_id, CASE
        WHEN plan <> 'taken' THEN plan
        WHEN state IS NULL THEN 'pending'
        WHEN state IN ('good', 'stale') AND status = 'empty' THEN 'empty'
        WHEN state = 'good' THEN NULL
        WHEN fault = 'login' THEN 'no_permission'
        ELSE state END AS gap
      FROM coverage LEFT JOIN known ON lower(known.repo_full_name) = lower(coverage.name)
    )
    SELECT ${jsonObject(`
        SELECT (SELECT max(run_id) FROM seen) AS run_id,
          (SELECT ${iso('max(seen_at)')} FROM seen) AS seen_at,
          (SELECT count(*) FROM seen WHERE plan NOT IN ('lost', 'suspended', 'not_installed')) AS seen,
          (SELECT count(*) FROM seen WHERE gap IS NULL) AS backed_up,
          (SELECT coalesce(json_object_agg(gap, number ORDER BY gap), '{}') FROM (
            SELECT gap, count(*) AS number FROM seen WHERE gap IS NOT NULL GROUP BY gap
          ) AS gaps) AS gaps`)} AS item,
      ${jsonArray(`
        SELECT name, gap, coalesce(nullif(reason, ''), (
            SELECT ${cutTextSql('result.error_message', MAX_REASON_LENGTH)}
            FROM backup_results AS result WHERE result.id = result_id AND gap <> 'stale'
          ), '') AS reason, ${iso('last_good_at')} AS last_good_at
        FROM (
          SELECT * FROM seen WHERE gap IS NOT NULL
          ORDER BY gap, name LIMIT $1::bigint OFFSET $2::bigint
        ) AS shown ORDER BY gap, name`)} AS items,
      (SELECT count(*) FROM seen WHERE gap IS NOT NULL)::text AS total`,
};

/** What the last discovery saw, as JSON, with a page of the repositories that have no fresh backup. */
export async function readCoverage(
  db: Database,
  request: PageRequest,
  judging: Judging,
): Promise<{ item: string; items: string; totalItems: number }> {
  const values = [request.limit, pageOffset(request), ...judgingValues(judging)];
  const [row] = await db.query<{ item: string; items: string; total: string }>(coverage, values);
  if (!row) throw new Error(`${coverage.name} returned no row`);
  return { item: row.item, items: row.items, totalItems: Number(row.total) };
}
