import type { Database, Statement } from '../../database/database.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { iso } from '../base/page.ts';

const MAX_STORES = 100;
const MAX_REASON_LENGTH = 1_000;
/** More versions than this are not counted. */
const MAX_BEHIND = 10_000;

/** A store, away from the worker's machine, and what it has of a repository. */
export interface RepositoryStore {
  store: string;
  version: number | null;
  stored_at: string | null;
  /** How many newer versions the archive has; null if that is unknown. */
  versions_behind: number | null;
  failing_since: string | null;
  /** Since when the repository has been backed up without the store. */
  unused_since: string | null;
  reason: string;
}

const list: Statement = {
  name: 'repository_stores',
  text: `WITH stored AS (
      SELECT *, (
        SELECT count(*) FROM (
          SELECT FROM archive_versions AS made
          WHERE lower(made.repo_full_name) = lower($1) AND made.pruned_at IS NULL
            AND made.version > archive_stores.version LIMIT ${MAX_BEHIND}
        ) AS newer
      )::int AS newer
      FROM archive_stores WHERE lower(repo_full_name) = lower($1)
    )
    SELECT store, version, ${iso('stored_at')} AS stored_at,
      CASE WHEN version IS NOT NULL THEN newer END AS versions_behind, ${iso('failing_since')} AS failing_since,
      ${iso('unused_since')} AS unused_since, ${cutTextSql('reason', MAX_REASON_LENGTH)} AS reason
    FROM stored
    ORDER BY unused_since NULLS FIRST, failing_since NULLS LAST, coalesce(newer, 0) = 0, store LIMIT ${MAX_STORES}`,
};

/** The stores of a repository, failing ones first, then those that are behind, and last those that are no longer used. */
export function listStores(db: Database, repository: string): Promise<RepositoryStore[]> {
  return db.query<RepositoryStore>(list, [repository]);
}
