const newestAs = (name: string) => `
  ${name} AS (
    SELECT kept.repo_full_name, found.* FROM (
      SELECT DISTINCT ON (repo_full_name) * FROM newest_results
      ORDER BY repo_full_name, created_at DESC, result_id DESC, stale DESC
    ) AS kept CROSS JOIN LATERAL (
      SELECT kept.status, kept.commit_hash, kept.archive_size_bytes, kept.created_at,
        kept.result_id
      WHERE NOT kept.stale
      UNION ALL (
        SELECT status, commit_hash, archive_size_bytes, created_at, id
        FROM backup_results AS result
        WHERE kept.stale AND result.repo_full_name = kept.repo_full_name
        ORDER BY result.created_at DESC, result.id DESC LIMIT 1
      )
    ) AS found
  )`;

/**
 * SQL that follows SELECT, for the row of a forgotten repository; no row if the repository is tracked. A newer result
 * ends the forgetting, and so does a run that finds the repository unchanged. Both are compared with what was recorded
 * at the time, because workers' clocks may be wrong.
 */
export const forgetting = (name: string, newestId: string) => `
  FROM forgotten_repositories AS forgotten
  WHERE forgotten.repo_full_name = ${name} AND forgotten.result_id = ${newestId}
    AND NOT EXISTS (
      SELECT FROM worker_repo_state AS checked WHERE checked.repo_full_name = forgotten.repo_full_name
        AND checked.checked_at > coalesce(forgotten.checked_at, '-infinity')
    )`;

const isForgotten = `EXISTS (SELECT ${forgetting('one.repo_full_name', 'one.result_id')})`;

/**
 * The CTE `newest` with the newest result of each repository, including forgotten ones, from the summary table
 * newest_results. Where the summary is stale, because a result was changed or deleted, the newest result is looked up.
 */
export const newestOfAll = newestAs('newest');

/** Like `newestOfAll`, but only of tracked repositories: those that nobody has forgotten. */
export const newestResults = `${newestAs('newest_of_all')},
  newest AS (SELECT * FROM newest_of_all AS one WHERE NOT ${isForgotten})`;

/** Like `newestOfAll`, but only of forgotten repositories. */
export const newestForgotten = `${newestAs('newest_of_all')},
  newest AS (SELECT * FROM newest_of_all AS one WHERE ${isForgotten})`;
