const LAST_VERSION = 2_147_483_647;

/** What the stores in use have of a repository: its newest version, an older one, nothing, or they refuse it. */
export const offSiteStates = ['current', 'behind', 'missing', 'failing'] as const;
export type OffSiteState = (typeof offSiteStates)[number];

/**
 * SQL for the rows of a CTE that have an archive, with what the stores in use have of each: `is_current`, `is_behind`
 * or `is_missing`, and besides `is_failing`. Where versions have no numbers, whatever was stored counts as the newest.
 */
export const offSiteCopies = (source: string) => `
  SELECT repository.repo_full_name, stored.version >= made.version AS is_current,
    stored.version < made.version AS is_behind, stored.version IS NULL AS is_missing, stored.is_failing
  FROM ${source} AS repository
  JOIN LATERAL (
    SELECT version FROM archive_versions AS made
    WHERE lower(made.repo_full_name) = lower(repository.repo_full_name) AND made.pruned_at IS NULL
    ORDER BY made.version DESC LIMIT 1
  ) AS made ON true
  LEFT JOIN (
    SELECT lower(repo_full_name) AS key, bool_or(failing_since IS NOT NULL) AS is_failing,
      max(CASE WHEN stored_at IS NOT NULL THEN coalesce(version, ${LAST_VERSION}) END) AS version
    FROM archive_stores WHERE unused_since IS NULL GROUP BY 1
  ) AS stored ON stored.key = lower(repository.repo_full_name)`;
