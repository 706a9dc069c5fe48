import type { Database, Statement } from '../platform/database/database.ts';
import { iso, jsonArray, type Page, type PageRequest, pageOffset, readPage } from './page.ts';

/**
 * A recursive query `newest` with the newest result of each repository. It jumps from one repository to
 * the next in the index backup_results_newest_of_repo, so it reads one row for each repository, however
 * many results there are.
 */
export const newestResults = `
  newest AS (
    (SELECT repo_full_name, status, commit_hash, archive_size_bytes, created_at
     FROM backup_results ORDER BY repo_full_name, created_at DESC, id DESC LIMIT 1)
    UNION ALL
    SELECT next.* FROM newest CROSS JOIN LATERAL (
      SELECT repo_full_name, status, commit_hash, archive_size_bytes, created_at
      FROM backup_results AS result WHERE result.repo_full_name > newest.repo_full_name
      ORDER BY result.repo_full_name, result.created_at DESC, result.id DESC LIMIT 1
    ) AS next
  )`;

const reposPage: Statement = {
  name: 'repos_page',
  text: `WITH RECURSIVE ${newestResults}
    SELECT ${jsonArray(`
      SELECT repo_full_name AS full_name, status AS last_status,
        coalesce(commit_hash, '') AS last_commit_hash,
        coalesce(archive_size_bytes, 0) AS archive_size_bytes, ${iso('created_at')} AS last_backed_up
      FROM newest ORDER BY coalesce(archive_size_bytes, 0) DESC, repo_full_name
      LIMIT $1::bigint OFFSET $2::bigint`)} AS items,
      (SELECT count(*) FROM newest)::text AS total`,
};

/**
 * Tracked repositories, one entry each from its newest result, largest archive first, then by name
 * (spec 1, GET /api/repos).
 */
export function listRepos(db: Database, request: PageRequest): Promise<Page> {
  return readPage(db, reposPage, [request.limit, pageOffset(request)]);
}
