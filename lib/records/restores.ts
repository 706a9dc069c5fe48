import type { Database, Statement } from '../database/database.ts';
import type { PushedFacts, RestoredFacts, RestoreStep } from '../restore/restore-events.ts';
import {
  iso,
  jsonObject,
  type Page,
  type PageRequest,
  pageOffset,
  pageQuery,
  readObject,
  readPage,
} from './base/page.ts';

/** Every status of a restore. */
export const restoreStatuses = [
  'waiting',
  'running',
  'done',
  'failed',
  'canceled',
  'interrupted',
] as const;
type RestoreStatus = (typeof restoreStatuses)[number];

/** A restore that was asked for. */
export interface NewRestore {
  repository: string;
  /** Null for the newest. */
  version: number | null;
  /** A branch or tag; null for all. */
  ref: string | null;
  kind: 'folder' | 'push';
  /** The absolute path of the folder, or the address of the repository. */
  target: string;
  isBare: boolean;
  requestedBy: string;
  /** Identifies the server that restores. */
  server: string;
}

/** How far a restore is. Times are ISO 8601 in UTC. */
export interface RestoreState {
  status: RestoreStatus;
  step: RestoreStep | null;
  filesDone: number | null;
  files: number | null;
  error: string | null;
  result: { restored: RestoredFacts | null; pushed: PushedFacts | null } | null;
  startedAt: string | null;
  endedAt: string | null;
}

/** A server that says nothing for this long is gone, with what it restored. */
const SILENT = "interval '3 minutes'";

/** An unfinished restore whose server is gone was interrupted, although nobody could record that. */
const restoreColumns = `
  id, repo_full_name AS repository, version, ref, kind, target, is_bare,
  CASE WHEN ended_at IS NULL AND seen_at < now() - ${SILENT} THEN 'interrupted' ELSE status END AS status,
  step, files_done, files, error, result->'restored' AS restored, result->'pushed' AS pushed,
  requested_by, ${iso('created_at')} AS created_at, ${iso('started_at')} AS started_at,
  ${iso('ended_at')} AS ended_at`;

const insert: Statement = {
  name: 'insert_restore',
  text: `INSERT INTO restores
      (repo_full_name, version, ref, kind, target, is_bare, requested_by, server)
    VALUES ($1, $2::int, $3, $4, $5, $6::boolean, $7, $8) RETURNING id::text AS id`,
};

/** Records a restore that waits for its turn, and returns its id. */
export async function insertRestore(db: Database, restore: NewRestore): Promise<number> {
  const { repository, version, ref, kind, target, isBare, requestedBy, server } = restore;
  const values = [repository, version, ref, kind, target, isBare, requestedBy, server];
  const [row] = await db.query<{ id: string }>(insert, values);
  if (!row) throw new Error('the restore was not inserted');
  return Number(row.id);
}

const update: Statement = {
  name: 'update_restore',
  text: `UPDATE restores SET status = $2, step = $3, files_done = $4::int, files = $5::int, error = $6,
      result = $7::json, started_at = $8::timestamptz, ended_at = $9::timestamptz, seen_at = now()
    WHERE id = $1::bigint AND ended_at IS NULL`,
};

/** Records how far a restore is, which is a sign of life, too. One that has ended stays as it is. */
export async function updateRestore(db: Database, id: number, state: RestoreState): Promise<void> {
  const { status, step, filesDone, files, error, result, startedAt, endedAt } = state;
  const stored = result === null ? null : JSON.stringify(result);
  const values = [id, status, step, filesDone, files, error, stored, startedAt, endedAt];
  await db.query(update, values);
}

const interrupt: Statement = {
  name: 'interrupt_restores',
  text: `UPDATE restores SET status = 'interrupted', ended_at = now(),
      error = 'the server was stopped; what was restored so far is gone, and nothing else was changed'
    WHERE server = $1 AND ended_at IS NULL RETURNING id::text AS id`,
};

/** Ends what a server had not ended when it was stopped. Returns the ids. */
export async function interruptRestores(db: Database, server: string): Promise<number[]> {
  const rows = await db.query<{ id: string }>(interrupt, [server]);
  return rows.map(({ id }) => Number(id));
}

const list: Statement = {
  name: 'list_restores',
  text: pageQuery(
    `SELECT ${restoreColumns} FROM restores
     WHERE $3 = '' OR lower(repo_full_name) = lower($3)
     ORDER BY restores.id DESC LIMIT $1::bigint OFFSET $2::bigint`,
    `SELECT count(*) FROM restores WHERE $3 = '' OR lower(repo_full_name) = lower($3)`,
  ),
};

/** Restores, newest first; only those of a repository if one is given, in any letter case. */
export function listRestores(db: Database, request: PageRequest, name = ''): Promise<Page> {
  return readPage(db, list, [request.limit, pageOffset(request), name]);
}

const read: Statement = {
  name: 'read_restore',
  text: `SELECT ${jsonObject(`SELECT ${restoreColumns} FROM restores WHERE id = $1::bigint`)} AS item`,
};

/** A restore as JSON; null if there is none. */
export function readRestore(db: Database, id: number): Promise<string | null> {
  return readObject(db, read, [id]);
}
