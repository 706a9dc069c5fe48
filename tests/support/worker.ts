import { existsSync } from 'node:fs';
import { Readable } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import { systemClock } from '../../lib/clock.ts';
import { type Database, isDatabaseUnavailable } from '../../lib/database/database.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { runWorker } from '../../lib/worker/worker.ts';
import { silentLog } from './databases.ts';
import { createMemoryKeychain, noDesktop } from './keychain.ts';

export interface WorkerCall {
  databaseUrl: string;
  archives: string;
  args: string[];
  folder?: string;
  clock?: Clock;
  signal?: AbortSignal;
  isTerminal?: boolean;
  /** Variables in addition to PATH and HOME. */
  env?: Record<string, string>;
  /** Wraps the worker's database. */
  wrap?(db: Database): Database;
}

/** Runs the worker in this process with its own database connections. */
export async function callWorker(call: WorkerCall) {
  const { databaseUrl, archives, args, wrap = (db) => db } = call;
  const written = { stdout: '', stderr: '' };
  const isNew = !existsSync(archives);
  const code = await runWorker({
    args,
    folder: call.folder ?? archives,
    environment: {
      PATH: process.env.PATH,
      HOME: '/nonexistent',
      BACKUP_ARCHIVE_PATH: archives,
      DATA_DIR: `${archives}-data`,
      DRILL_BUDGET_MINUTES: '0',
      ...call.env,
    },
    clock: call.clock ?? systemClock,
    signal: call.signal ?? new AbortController().signal,
    io: {
      isTerminal: call.isTerminal ?? false,
      stdin: Readable.from([]),
      stdout: { write: (text) => (written.stdout += text) },
      stderr: {
        columns: 80,
        write: (text) => (written.stderr += text),
      },
    },
    desktop: noDesktop,
    keychain: createMemoryKeychain(),
    fetch,
    openDatabase: async () => {
      const db = await shareDatabase(databaseUrl);
      if (isNew) await forgetVersions(db);
      return wrap(db);
    },
  });
  return { code, ...written };
}

const shared = new Map<string, Promise<Database>>();

/** A handle that stays open for the other calls with this URL: a new connection plans every statement anew. */
async function shareDatabase(url: string): Promise<Database> {
  let opening = shared.get(url);
  if (!opening) {
    opening = openDatabase({ url, fetch, log: silentLog, maxConnections: 2 });
    shared.set(url, opening);
  }
  return { ...(await opening), close: async () => undefined };
}

/** A new archive folder is another installation, whose worker would miss the archives of the test before. */
async function forgetVersions(db: Database): Promise<void> {
  try {
    const find = { text: `SELECT to_regclass('archive_versions') IS NOT NULL AS there` };
    const [found] = await db.query<{ there: boolean }>(find);
    if (!found?.there) return;
    await db.query({ text: 'DELETE FROM archive_versions' });
    await db.query({ text: 'DELETE FROM archive_refs' });
  } catch (error) {
    // The test may be about an unreachable database.
    if (!isDatabaseUnavailable(error)) throw error;
  }
}

/** The rows of a statement, with columns as in JSON. */
export async function rowsOf<Row = Record<string, unknown>>(
  db: Database,
  select: string,
): Promise<Row[]> {
  const text = `SELECT coalesce(json_agg(row), '[]')::text AS rows FROM (${select}) AS row`;
  const [found] = await db.query<{ rows: string }>({ text });
  return JSON.parse(found?.rows ?? '[]') as Row[];
}

/** The outcome of each repository in the last run. */
export const lastResults = (db: Database) =>
  rowsOf<{ repo_full_name: string; status: string; error_message: string }>(
    db,
    `SELECT repo_full_name, status, error_message FROM backup_results
     WHERE run_id = (SELECT max(id) FROM backup_runs) ORDER BY repo_full_name`,
  );
