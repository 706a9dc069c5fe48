import type { Database, Statement } from '../../database/database.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { iso, type Page, type PageRequest, pageOffset, pageQuery, readPage } from '../base/page.ts';
import { longFindings } from './new-drill.ts';
import { statementState } from './statements.ts';

const MAX_REASON_LENGTH = 1_000;

const list: Statement = {
  name: 'repository_drills',
  text: pageQuery(
    `SELECT id, repository_name AS repository, version, storage, ${iso('started_at')} AS started_at,
      duration_ms, bytes, outcome, ${cutTextSql('reason', MAX_REASON_LENGTH)} AS reason,
      evidence - '{${longFindings.join(',')}}'::text[] AS evidence, previous_sha256, sha256, ${statementState} AS statement
    FROM restore_drills AS drill WHERE lower(repository_name) = lower($3)
    ORDER BY drill.started_at DESC, drill.id DESC LIMIT $1::bigint OFFSET $2::bigint`,
    'SELECT count(*) FROM restore_drills WHERE lower(repository_name) = lower($3)',
  ),
};

/** The restore drills of a repository by its name in any letter case, newest first. */
export function listDrills(db: Database, name: string, request: PageRequest): Promise<Page> {
  return readPage(db, list, [request.limit, pageOffset(request), name]);
}
