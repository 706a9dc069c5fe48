import type { Database, Statement } from '../../database/database.ts';
import { cutTextSql } from '../../text/cut-text.ts';
import { iso } from '../page.ts';

const MAX_STORES = 100;
const MAX_REASON_LENGTH = 1_000;

/** A store, away from the worker's machine, and what it has of a repository. */
export interface RepositoryStore {
  store: string;
  version: number | null;
  stored_at: string | null;
  failing_since: string | null;
  reason: string;
}

const list: Statement = {
  name: 'repository_stores',
  text: `SELECT store, version, ${iso('stored_at')} AS stored_at, ${iso('failing_since')} AS failing_since,
      ${cutTextSql('reason', MAX_REASON_LENGTH)} AS reason
    FROM archive_stores WHERE lower(repo_full_name) = lower($1)
    ORDER BY failing_since NULLS LAST, store LIMIT ${MAX_STORES}`,
};

/** The stores of a repository, failing ones first. */
export function listStores(db: Database, repository: string): Promise<RepositoryStore[]> {
  return db.query<RepositoryStore>(list, [repository]);
}
