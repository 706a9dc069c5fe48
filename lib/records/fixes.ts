import type { Database, Statement } from '../platform/database/database.ts';
import { AppError } from '../platform/errors.ts';
import { iso, readObject } from './page.ts';

/** The SQLSTATE of a row that refers to one that is not there. */
const FOREIGN_KEY_VIOLATION = '23503';

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

/** A fix to be stored. */
export interface NewFix {
  title: string;
  description: string;
  author: string;
  /** Empty when there is none. */
  commitHash: string;
  /** The run that it is linked to; null for none. */
  affectedRunId: number | null;
}

const insertFix: Statement = {
  name: 'record_fix',
  text: `WITH fix AS (
      INSERT INTO backup_fixes (title, description, author, commit_hash)
      SELECT $1, $2, $3, $4
      WHERE $5::bigint IS NULL OR EXISTS (SELECT FROM backup_runs WHERE id = $5::bigint)
      RETURNING id, title, description, author, commit_hash, created_at
    ), link AS (
      INSERT INTO backup_run_fixes (run_id, fix_id)
      SELECT $5::bigint, id FROM fix WHERE $5::bigint IS NOT NULL
    )
    SELECT row_to_json(recorded)::text AS item FROM (
      SELECT id, title, description, author, commit_hash, $5::bigint AS affected_run_id,
        ${iso('created_at')} AS created_at
      FROM fix
    ) AS recorded`,
};

/**
 * Stores a fix, linked to the run that it mends, in one statement, and returns it as JSON. Throws
 * NOT_FOUND, and stores nothing, when there is no such run (decisions 6).
 */
export async function recordFix(db: Database, fix: NewFix): Promise<string> {
  const { title, description, author, commitHash, affectedRunId } = fix;
  const values = [title, description, author, commitHash, affectedRunId];
  const recorded = await readObject(db, insertFix, values).catch((error) => {
    // The run was deleted while the statement ran.
    if (error?.code === FOREIGN_KEY_VIOLATION) return null;
    throw error;
  });
  if (recorded === null) {
    throw new AppError('NOT_FOUND', `backup run ${affectedRunId} does not exist`);
  }
  return recorded;
}
