/**
 * SQL for whether the repository of a row of `newest` was ever read: it was good once, or has an archive. Anything else
 * was only named, such as a mistyped source of an earlier release.
 */
export const wasRead = (row: string) => `(
  ${row}.status IN ('completed', 'success', 'empty') OR EXISTS (
    SELECT FROM worker_repo_state AS known WHERE known.repo_full_name = ${row}.repo_full_name
      AND (known.checked_at IS NOT NULL OR coalesce(known.archive_key, '') <> '')
  ) OR EXISTS (
    SELECT FROM backup_results AS result WHERE result.repo_full_name = ${row}.repo_full_name
      AND result.status IN ('completed', 'success')
  ))`;

/** SQL for whether the archive of a row of `newest` is missing, while no store has a copy. */
export const isArchiveGone = (row: string) => `(EXISTS (
    SELECT FROM worker_repo_state AS known
    WHERE known.repo_full_name = ${row}.repo_full_name AND known.archive_missing_since IS NOT NULL
  ) AND NOT EXISTS (
    SELECT FROM archive_stores AS copy
    WHERE lower(copy.repo_full_name) = lower(${row}.repo_full_name) AND copy.stored_at IS NOT NULL
  ))`;
