import type { Database, Statement } from '../database/database.ts';
import { iso, jsonArray, type Page, type PageRequest, pageOffset, readPage } from './page.ts';

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

const reposPage: Statement = {
  name: 'repos_page',
  text: `WITH ${newestResults}
    SELECT ${jsonArray(`
      SELECT repo_full_name AS full_name, status AS last_status,
        coalesce(commit_hash, '') AS last_commit_hash,
        coalesce(archive_size_bytes, 0) AS archive_size_bytes, ${iso('created_at')} AS last_backed_up
      FROM newest ORDER BY coalesce(archive_size_bytes, 0) DESC, newest.created_at DESC, result_id DESC
      LIMIT $1::bigint OFFSET $2::bigint`)} AS items,
      (SELECT count(*) FROM newest)::text AS total`,
};

/**
 * Tracked repositories, each with its newest result: largest archive first, then newest.
 */
export function listRepos(db: Database, request: PageRequest): Promise<Page> {
  return readPage(db, reposPage, [request.limit, pageOffset(request)]);
}
