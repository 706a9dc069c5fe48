/**
 * The CTE `newest` with the newest result of each repository, from the summary table newest_results. Where
 * the summary is stale, because a result was changed or deleted, the newest result is looked up.
 */
export const newestResults = `
  newest AS (
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
