import type { Database, Statement } from '../../database/database.ts';
import { jsonArray, type Page, type PageRequest, pageOffset, readPage } from '../base/page.ts';
import { boundedResultColumns } from '../base/result-columns.ts';

/** Maximum number of spellings (letter cases) of a name under which results are found. */
const MAX_SPELLINGS = 20;

const MAX_ERROR_LENGTH = 4_000;

/** Reads the results of each spelling by its index, and no more than the page and the rows before it. */
const history: Statement = {
  name: 'repository_history',
  text: `WITH spelling AS (
      SELECT DISTINCT repo_full_name AS name FROM newest_results
      WHERE lower(repo_full_name) = lower($3) ORDER BY 1 LIMIT ${MAX_SPELLINGS}
    )
    SELECT ${jsonArray(`
      SELECT ${boundedResultColumns(MAX_ERROR_LENGTH)} FROM (
        SELECT result.* FROM spelling CROSS JOIN LATERAL (
          SELECT * FROM backup_results WHERE repo_full_name = spelling.name
          ORDER BY backup_results.created_at DESC, backup_results.id DESC
          LIMIT $1::bigint + $2::bigint
        ) AS result
        ORDER BY result.created_at DESC, result.id DESC LIMIT $1::bigint OFFSET $2::bigint
      ) AS result ORDER BY result.created_at DESC, result.id DESC`)} AS items,
      (SELECT count(*) FROM spelling JOIN backup_results ON repo_full_name = name)::text AS total`,
};

/**
 * The results of a repository, newest first, by its name in any letter case. The total is exact, and 0 when
 * there is no such repository.
 */
export function listRepositoryHistory(
  db: Database,
  name: string,
  request: PageRequest,
): Promise<Page> {
  return readPage(db, history, [request.limit, pageOffset(request), name]);
}
