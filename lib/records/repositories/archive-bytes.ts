/** SQL for the size of the archive of a row `repository` of `withStates`: that of its newest completed backup, 0 if it is gone. */
export const archiveBytesSql = `CASE WHEN repository.state = 'gone' THEN 0 WHEN repository.status IN ('completed', 'success') THEN repository.archive_size_bytes
  ELSE (
    SELECT result.archive_size_bytes FROM backup_results AS result
    WHERE result.repo_full_name = repository.repo_full_name AND result.status IN ('completed', 'success')
    ORDER BY result.created_at DESC, result.id DESC LIMIT 1
  ) END`;
