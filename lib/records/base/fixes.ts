import type { Database, Statement } from '../../database/database.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { iso, readObject } from './page.ts';

const FOREIGN_KEY_VIOLATION = '23503';

/**
 * SQL for the fixes linked to a run, as a JSON array ordered by id. Each lists all the runs it is linked to.
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

/** Limits on the fixes of a run. */
export const fixLimits = {
  /** Newest fixes. */
  fixes: 20,
  /** Newest runs that a fix is linked to. */
  runs: 20,
  /** Characters of one text. */
  text: 1_000,
} as const;

const bounded = (text: string) => cutTextSql(text, fixLimits.text);

/** Like `fixesOfRun`, within `fixLimits`. */
export function newestFixesOfRun(runId: string): string {
  return `(
    SELECT coalesce(json_agg(fix ORDER BY fix.id), '[]') FROM (
      SELECT id, ${bounded('title')} AS title, ${bounded('commit_hash')} AS commit_hash,
        ${bounded('author')} AS author,
        (SELECT json_agg(newest.run_id ORDER BY newest.run_id) FROM (
          SELECT link.run_id FROM backup_run_fixes AS link WHERE link.fix_id = backup_fixes.id
          ORDER BY link.run_id DESC LIMIT ${fixLimits.runs}
        ) AS newest) AS affected_runs
      FROM backup_fixes
      WHERE id IN (SELECT link.fix_id FROM backup_run_fixes AS link WHERE link.run_id = ${runId})
      ORDER BY id DESC LIMIT ${fixLimits.fixes}
    ) AS fix
  )`;
}

/** A new fix. */
export interface NewFix {
  title: string;
  description: string;
  author: string;
  /** Empty when there is none. */
  commitHash: string;
  /** The run to link it to; null for none. */
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
      SELECT run.id, fix.id FROM fix, backup_runs AS run WHERE run.id = $5::bigint
    )
    SELECT row_to_json(recorded)::text AS item FROM (
      SELECT id, title, description, author, commit_hash, $5::bigint AS affected_run_id,
        ${iso('created_at')} AS created_at
      FROM fix
    ) AS recorded`,
};

/**
 * Stores a fix with a link to its run in one statement, and returns it as JSON. Stores nothing and returns null when
 * the run does not exist.
 */
export async function recordFix(db: Database, fix: NewFix): Promise<string | null> {
  const { title, description, author, commitHash, affectedRunId } = fix;
  const values = [title, description, author, commitHash, affectedRunId];
  return readObject(db, insertFix, values).catch((error) => {
    // The run was deleted meanwhile.
    if (error?.code === FOREIGN_KEY_VIOLATION) return null;
    throw error;
  });
}
