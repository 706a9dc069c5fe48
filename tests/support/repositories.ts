import { beforeEach } from 'vitest';
import type { SqlValue } from '../../lib/database/database.ts';
import { createClient } from './client.ts';
import { createTestClock } from './clock.ts';
import { useDatabase } from './hooks.ts';
import { empty, insertResult, insertRun, sql } from './records.ts';

/** The time at which the server of these tests answers. */
export const NOW = Date.parse('2026-03-10T12:00:00Z');

/** A time in March 2026, as answers show it. */
export const at = (day: number, hour = 0) =>
  new Date(Date.UTC(2026, 2, day, hour)).toISOString().replace('Z', '000Z');

/** Gives each test of the calling file the repository routes, over an empty database with one run. */
export function useRepositories() {
  const database = useDatabase();
  let run: number;

  beforeEach(async () => {
    await empty(database.db);
    run = await insertRun(database.db);
  });

  const client = (environment = {}) =>
    createClient({ db: database.db, environment, clock: createTestClock(NOW) });
  const bodyOf = async (path: string) => (await client().get(path)).body;
  const result = (repository: string, created_at: string, row: Record<string, SqlValue> = {}) =>
    insertResult(database.db, run, repository, { created_at, ...row });
  const failure = (repository: string, created_at: string, error_message = 'no route to host') =>
    result(repository, created_at, { status: 'failed', error_message });

  /** Records that a run found a repository good, as the worker does. */
  const found = (repository: string, checkedAt: string | null) =>
    sql(
      database.db,
      'INSERT INTO worker_repo_state (repo_full_name, checked_at) VALUES ($1, $2::timestamptz)',
      [repository, checkedAt],
    );

  return {
    ...{ client, bodyOf, result, failure, found },
    get db() {
      return database.db;
    },
    /** The run that the results belong to. */
    get run() {
      return run;
    },
    set run(id) {
      run = id;
    },
  };
}
