import type { Database, SqlValue, Statement } from '../../database/database.ts';
import { iso, jsonArray, type Page, type PageRequest, pageOffset, readPage } from '../base/page.ts';

/** The columns of an Anomaly in order. */
const anomalyColumns = `id, repo_full_name AS repository, run_id, version, kind, change_count, before, after,
  ${iso('seen_at')} AS seen_at, ${iso('confirmed_at')} AS confirmed_at, confirmed_by`;

/** Selects anomalies. */
export interface AnomalySelection {
  /** Only of this repository, by its name in any letter case. */
  repository?: string | undefined;
  /** True: only unconfirmed ones. False: only confirmed ones. */
  open?: boolean | undefined;
}

/** The anomalies that match, newest first. */
export function listAnomalies(
  db: Database,
  request: PageRequest,
  { repository, open }: AnomalySelection,
): Promise<Page> {
  const values: SqlValue[] = [request.limit, pageOffset(request)];
  const conditions: string[] = [];
  if (repository !== undefined) {
    conditions.push(`lower(repo_full_name) = lower($${values.push(repository)})`);
  }
  if (open !== undefined) conditions.push(`confirmed_at IS ${open ? 'NULL' : 'NOT NULL'}`);
  const from = `FROM anomalies AS anomaly ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''}`;
  const names = [repository === undefined ? '' : 'repository', open === undefined ? '' : open];
  const statement: Statement = {
    name: `anomalies_${names.join('_')}`,
    text: `SELECT ${jsonArray(`SELECT ${anomalyColumns} ${from}
        ORDER BY anomaly.seen_at DESC, anomaly.id DESC LIMIT $1::bigint OFFSET $2::bigint`)} AS items,
      (SELECT count(*) ${from})::text AS total`,
  };
  return readPage(db, statement, values);
}

const confirmIds: Statement = {
  name: 'confirm_anomalies',
  text: `WITH known AS (
      SELECT id FROM anomalies WHERE id = ANY ($1::bigint[])
    ), confirmed AS (
      UPDATE anomalies SET confirmed_at = now(), confirmed_by = $2
      WHERE id = ANY ($1::bigint[]) AND confirmed_at IS NULL
        AND (SELECT count(*) FROM known) = cardinality($1::bigint[])
      RETURNING id
    )
    SELECT (SELECT count(*) FROM known)::int AS known, (SELECT count(*) FROM confirmed)::int AS confirmed`,
};

/**
 * Confirms anomalies by their ids, without duplicates, so that they hold nothing back from the next run on. If one of
 * them does not exist, confirms none. Returns how many exist, and how many were newly confirmed.
 */
export async function confirmAnomalies(
  db: Database,
  ids: readonly number[],
  by: string,
): Promise<{ known: number; confirmed: number }> {
  const [row] = await db.query<{ known: number; confirmed: number }>(confirmIds, [ids, by]);
  return row ?? { known: 0, confirmed: 0 };
}

const confirmOf = (condition: string): string => `WITH confirmed AS (
    UPDATE anomalies SET confirmed_at = now(), confirmed_by = $1
    WHERE confirmed_at IS NULL AND ${condition} RETURNING id
  ) SELECT count(*)::int AS confirmed FROM confirmed`;
const confirmRepository: Statement = {
  name: 'confirm_repository',
  text: confirmOf('lower(repo_full_name) = lower($2)'),
};
const confirmMissing: Statement = {
  name: 'confirm_missing',
  text: confirmOf('repo_full_name IS NULL'),
};

/** Confirms all open anomalies of a repository, or, for null, those that concern all repositories. Returns how many. */
export async function confirmOpen(
  db: Database,
  repository: string | null,
  by: string,
): Promise<number> {
  const [row] = await (repository === null
    ? db.query<{ confirmed: number }>(confirmMissing, [by])
    : db.query<{ confirmed: number }>(confirmRepository, [by, repository]));
  return row?.confirmed ?? 0;
}
