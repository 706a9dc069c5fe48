import { cutTextSql } from '../../security/redaction/cut-text.ts';

/**
 * What would be lost if the source disappeared tonight, as far as the worker knows:
 *
 * - `everything`: it has no backup.
 * - `lfs`: files of which the archive has only pointers.
 * - `submodules`: repositories of which the archive only names commits.
 * - `issues`, `wiki`, `discussions`: no archive contains them.
 * - `releases`: a git host may have them wherever there are tags, and does not list them.
 * - `only_here`: versions that are in no store that runs still use, and were not pushed.
 */
export const losses = [
  'everything',
  'lfs',
  'submodules',
  'issues',
  'wiki',
  'discussions',
  'releases',
  'only_here',
] as const;

const MAX_LENGTH = 500;
/** Sorts after every name of a tag, in byte order. */
const AFTER_TAGS = 'refs/tags0';

/** SQL for a JSON array of the losses of a row `repository` with the columns of `withStates`. */
export const wouldLose = `(
  WITH fact AS (
    SELECT facts FROM coverage
    WHERE lower(coverage.name) = lower(repository.repo_full_name) ORDER BY seen_at DESC LIMIT 1
  ), good AS (
    SELECT lacks->>'lfs' AS files, lacks->>'submodules' AS submodules FROM (
      -- Another writer may only say that something is missing.
      SELECT coalesce(lacks, jsonb_build_object('lfs', nullif(incomplete, ''))) AS lacks
      FROM backup_results AS result
      WHERE result.repo_full_name = repository.repo_full_name AND status IN ('completed', 'success')
      ORDER BY result.created_at DESC, result.id DESC LIMIT 1
    ) AS newest
  ), made AS (
    SELECT repo_full_name, version FROM archive_versions AS made
    WHERE lower(made.repo_full_name) = lower(repository.repo_full_name) AND made.pruned_at IS NULL
    ORDER BY made.version DESC LIMIT 1
  ), stored AS (
    SELECT coalesce(max(version), 0) AS version FROM archive_stores
    WHERE lower(archive_stores.repo_full_name) = lower(repository.repo_full_name) AND unused_since IS NULL
  )
  SELECT coalesce(json_agg(loss), '[]') FROM (
    SELECT 'everything' AS what, '' AS detail WHERE repository.state = 'never'
    UNION ALL SELECT 'lfs', ${cutTextSql('files', MAX_LENGTH)} FROM good WHERE files IS NOT NULL
    UNION ALL SELECT 'submodules', ${cutTextSql('submodules', MAX_LENGTH)} FROM good WHERE submodules IS NOT NULL
    UNION ALL SELECT 'issues', coalesce(facts->>'open_issues', '') FROM fact
      WHERE (facts->>'has_issues')::boolean AND coalesce(facts->>'open_issues', '1') <> '0'
    UNION ALL SELECT 'wiki', '' FROM fact WHERE (facts->>'has_wiki')::boolean
    UNION ALL SELECT 'discussions', '' FROM fact WHERE (facts->>'has_discussions')::boolean
    UNION ALL SELECT 'releases', '' FROM fact, made WHERE EXISTS (
      SELECT FROM archive_refs AS tag WHERE tag.repo_full_name = made.repo_full_name
        AND tag.name COLLATE "C" > 'refs/tags/' AND tag.name COLLATE "C" < '${AFTER_TAGS}'
    )
    UNION ALL SELECT 'only_here', made.version::text FROM made, stored
      WHERE made.version > stored.version
        AND NOT (repository.state = 'good' AND coalesce((SELECT (facts->>'pushed')::boolean FROM fact), false))
  ) AS loss
)`;
