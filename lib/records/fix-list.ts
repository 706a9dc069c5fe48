import type { Database, Statement } from '../database/database.ts';
import { cutTextSql } from '../security/redaction/cut-text.ts';
import { iso, type Page, type PageRequest, pageOffset, pageQuery, readPage } from './base/page.ts';

/** Limits on a listed fix. Other writers may have stored more. */
export const listedFixLimits = { runs: 50, title: 500, description: 10_000 } as const;

const columns = `
  id, ${cutTextSql('title', listedFixLimits.title)} AS title,
  ${cutTextSql('description', listedFixLimits.description)} AS description,
  ${cutTextSql('commit_hash', listedFixLimits.title)} AS commit_hash,
  ${cutTextSql('author', listedFixLimits.title)} AS author, ${iso('fix.created_at')} AS created_at,
  (SELECT coalesce(json_agg(newest.run_id ORDER BY newest.run_id DESC), '[]') FROM (
    SELECT link.run_id FROM backup_run_fixes AS link WHERE link.fix_id = fix.id
    ORDER BY link.run_id DESC LIMIT ${listedFixLimits.runs}
  ) AS newest) AS affected_runs`;

/** Builds the columns for the rows of the page only, however many rows come before it. */
const pageOf = (condition: string) => `
  SELECT ${columns} FROM (
    SELECT * FROM backup_fixes AS fix WHERE ${condition}
    ORDER BY fix.created_at DESC, fix.id DESC LIMIT $1::bigint OFFSET $2::bigint
  ) AS fix ORDER BY fix.created_at DESC, fix.id DESC`;

const fixesPage: Statement = {
  name: 'fixes_page',
  text: pageQuery(pageOf('true'), 'SELECT count(*) FROM backup_fixes'),
};

const fixesOfRunPage: Statement = {
  name: 'fixes_of_run_page',
  text: pageQuery(
    pageOf('fix.id IN (SELECT fix_id FROM backup_run_fixes WHERE run_id = $3::bigint)'),
    'SELECT count(*) FROM backup_run_fixes WHERE run_id = $3::bigint',
  ),
};

/** Fixes, newest first, each with the newest runs that it is linked to; only those linked to `runId` if it is given. */
export function listFixes(db: Database, request: PageRequest, runId?: number): Promise<Page> {
  const page = [request.limit, pageOffset(request)];
  return runId === undefined
    ? readPage(db, fixesPage, page)
    : readPage(db, fixesOfRunPage, [...page, runId]);
}
