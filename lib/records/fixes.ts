/**
 * SQL for the fixes that are linked to a run, a JSON array ordered by id (spec 1, BackupRun). Each names
 * all the runs that it is linked to.
 */
export function fixesOfRun(runId: string): string {
  return `(
    SELECT coalesce(json_agg(fix ORDER BY fix.id), '[]') FROM (
      SELECT id, title, coalesce(commit_hash, '') AS commit_hash, coalesce(author, '') AS author,
        (SELECT json_agg(link.run_id ORDER BY link.run_id) FROM backup_run_fixes AS link
         WHERE link.fix_id = backup_fixes.id) AS affected_runs
      FROM backup_fixes
      WHERE id IN (SELECT link.fix_id FROM backup_run_fixes AS link WHERE link.run_id = ${runId})
    ) AS fix
  )`;
}
