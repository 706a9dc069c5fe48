import { cutTextSql } from '../../text/cut-text.ts';
import { iso } from '../page.ts';

/** How up to date the backup of a repository is. */
export const repositoryStates = ['good', 'stale', 'failing', 'never'] as const;
export type RepositoryState = (typeof repositoryStates)[number];

/** Failures that are counted since the last good result. */
export const MAX_FAILURES_COUNTED = 1_000;

const MAX_ERROR_LENGTH = 1_000;
const LAST_ID = 2_147_483_647;

/** SQL condition for results that leave a repository backed up. An empty one has nothing to archive. */
const isGood = (status: string) => `${status} IN ('completed', 'success', 'empty')`;

/** SQL for the newest of a repository's results that meet a condition, by a partial index. */
const newestOf = (repository: string, condition: string) => `
  SELECT created_at, id FROM backup_results AS result
  WHERE result.repo_full_name = ${repository} AND ${condition}
  ORDER BY result.created_at DESC, result.id DESC LIMIT 1`;

/**
 * SQL for the rows of a CTE with the columns of `newest` (repos.ts), each with its state:
 *
 * - `never`: there is no good result, and no run found it good.
 * - `failing`: the newest result is a failure, and nothing good came after it.
 * - `stale`: it does not fail, but was last good before the time `freshSince`.
 * - `good`: all others.
 *
 * `last_good_at` is the time of the last good result, or when a run last found it unchanged, if that is later.
 * Results after (`last_good_at`, `last_good_id`) are failures. Only repositories whose newest result is a
 * failure are looked up in backup_results.
 */
export const withStates = (source: string, freshSince: string) => `
  SELECT found.*, CASE
    WHEN last_good_at IS NULL THEN 'never'
    WHEN is_failing THEN 'failing'
    WHEN last_good_at < ${freshSince}::timestamptz THEN 'stale'
    ELSE 'good' END AS state
  FROM (
    SELECT newest.*, is_failing, greatest(newest.created_at, checked_at) AS last_checked_at,
      CASE WHEN is_failing THEN greatest(good.created_at, checked_at)
           WHEN ${isGood('newest.status')} THEN greatest(newest.created_at, checked_at)
           ELSE checked_at END AS last_good_at,
      CASE WHEN good.created_at >= checked_at OR checked_at IS NULL THEN good.id
           ELSE ${LAST_ID} END AS last_good_id
    FROM ${source} AS newest
    LEFT JOIN (
      SELECT lower(repo_full_name) AS name, max(checked_at) AS checked_at
      FROM worker_repo_state WHERE checked_at IS NOT NULL GROUP BY 1
    ) AS checked ON checked.name = lower(newest.repo_full_name)
    CROSS JOIN LATERAL (
      SELECT (${isGood('newest.status')}) IS NOT TRUE
        AND (checked_at > newest.created_at) IS NOT TRUE AS is_failing
    ) AS judged
    LEFT JOIN LATERAL (
      SELECT either.* FROM (
        (${newestOf('newest.repo_full_name', `status IN ('completed', 'success')`)})
        UNION ALL (${newestOf('newest.repo_full_name', `status = 'empty'`)})
      ) AS either WHERE is_failing ORDER BY created_at DESC, id DESC LIMIT 1
    ) AS good ON true
  ) AS found`;

const failuresSinceGood = `backup_results AS result
  WHERE result.repo_full_name = repository.repo_full_name AND state IN ('failing', 'never')
    AND (result.created_at, result.id) > (coalesce(last_good_at, '-infinity'), coalesce(last_good_id, 0))`;

/**
 * The columns of a TrackedRepository in order, from a row `repository` of `withStates`. Looks up the failures
 * of each row, so it is for the rows of one page.
 */
export const repositoryColumns = `
  repo_full_name AS full_name, status AS last_status, coalesce(commit_hash, '') AS last_commit_hash,
  coalesce(archive_size_bytes, 0) AS archive_size_bytes, ${iso('created_at')} AS last_backed_up,
  state, ${iso('last_good_at')} AS last_good_at, ${iso('last_checked_at')} AS last_checked_at,
  (SELECT ${iso('result.created_at')} FROM ${failuresSinceGood}
   ORDER BY result.created_at, result.id LIMIT 1) AS failing_since,
  (SELECT count(*) FROM (
    SELECT FROM ${failuresSinceGood} LIMIT ${MAX_FAILURES_COUNTED}
  ) AS failure) AS consecutive_failures,
  coalesce((SELECT ${cutTextSql('result.error_message', MAX_ERROR_LENGTH)} FROM backup_results AS result
    WHERE result.id = repository.result_id AND state IN ('failing', 'never')), '') AS error_message`;

/** SQL that orders rows `repository` of `withStates`: `never` first, `good` last, and within a state the longest not good first. */
export const worstFirst = `array_position(ARRAY['never', 'failing', 'stale', 'good'], repository.state),
  repository.last_good_at, repository.repo_full_name`;
