import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../lib/database/migrate.ts';
import { connect } from '../support/connection.ts';
import {
  createEmbedded,
  createNeon,
  createPostgres,
  type TestDatabase,
} from '../support/databases.ts';

/** Tables as created by older writers: bare columns, int log ids, none of our keys. */
const legacyTables = `
  CREATE TABLE backup_runs (
    id serial PRIMARY KEY, status text, started_at timestamptz DEFAULT now(),
    completed_at timestamptz, total_repos int, successful int, failed int, skipped int,
    duration_ms bigint, error_message text
  );
  CREATE TABLE backup_results (
    id serial PRIMARY KEY, run_id int REFERENCES backup_runs(id), repo_full_name text,
    status text, commit_hash text, archive_size_bytes bigint, duration_ms bigint,
    error_message text, created_at timestamptz DEFAULT now()
  );
  CREATE TABLE execution_logs (
    id serial PRIMARY KEY, run_id int, level text, message text, repository text,
    created_at timestamptz DEFAULT now()
  );
  CREATE TABLE analytics_snapshots (
    id serial PRIMARY KEY, run_id int, captured_at timestamptz DEFAULT now(), head_commit text,
    total_commits int
  );
  CREATE TABLE backup_fixes (
    id serial PRIMARY KEY, title text, description text, commit_hash text, author text,
    created_at timestamptz, updated_at timestamptz
  );`;

const legacyRows = `
  INSERT INTO backup_runs (status, started_at, total_repos, duration_ms) VALUES
    ('completed', '2024-03-01T10:00:00.123456Z', 3, 5000), ('failed', NULL, NULL, NULL);
  INSERT INTO backup_results (run_id, repo_full_name, status, archive_size_bytes, created_at) VALUES
    (1, 'o/a', 'success', 100, '2024-03-01T10:00:01Z'),
    (1, 'o/b', 'completed', NULL, '2024-03-01T10:00:02Z'),
    (2, 'o/a', 'failed', 9223372036854775807, NULL), (2, 'o/c', 'success', 1, now());
  INSERT INTO execution_logs (id, run_id, level, message, repository, created_at) VALUES
    (1, 1, 'INFO', 'upper', NULL, '2024-03-01T10:59:59.999999Z'),
    (2, 1, 'info', 'lower', 'o/a', '2024-03-01T10:00:00Z'),
    (3, NULL, 'warn', NULL, NULL, '2024-03-01T11:00:00Z'),
    (4, 1, NULL, 'no level', NULL, NULL);
  SELECT setval('execution_logs_id_seq', 4);
  INSERT INTO backup_fixes (title) VALUES ('a fix');`;

const readRows = `SELECT
  (SELECT json_agg(r ORDER BY id) FROM (
    SELECT id, status, total_repos, duration_ms, error_message, completed_at FROM backup_runs) r) AS runs,
  (SELECT json_agg(r ORDER BY id) FROM (
    SELECT id, run_id, repo_full_name, status, commit_hash, archive_size_bytes::text FROM backup_results) r) AS results,
  (SELECT json_agg(r ORDER BY id) FROM (
    SELECT id, run_id, level, message, repository FROM execution_logs) r) AS logs,
  (SELECT json_agg(r) FROM (SELECT id, title, author FROM backup_fixes) r) AS fixes`;

describe.each([
  { driver: 'embedded', create: createEmbedded },
  { driver: 'pg', create: createPostgres },
  { driver: 'neon', create: createNeon },
])('a database of an older writer, migrated over $driver', ({ create }) => {
  let database: TestDatabase;
  let client: Client;
  let before: unknown[];

  beforeAll(async () => {
    database = await create({ migrated: false });
    client = await connect(database.url);
    await client.query(legacyTables);
    await client.query(legacyRows);
    before = (await client.query(readRows)).rows;
    await migrate(database.db, 'drizzle');
  });
  afterAll(async () => {
    await client.end();
    await database.close();
  });

  it('keeps every row with its values', async () => {
    expect((await client.query(readRows)).rows).toEqual(before);
  });

  it('gives rows without a time a time that sorts last', async () => {
    const { rows } = await client.query(`
      SELECT (SELECT started_at = 'epoch' FROM backup_runs WHERE id = 2) AS run,
        (SELECT created_at = 'epoch' FROM backup_results WHERE id = 3) AS result,
        (SELECT created_at = 'epoch' FROM execution_logs WHERE id = 4) AS log,
        (SELECT created_at = 'epoch' FROM backup_fixes WHERE id = 1) AS fix`);
    expect(rows).toEqual([{ run: true, result: true, log: true, fix: true }]);
  });

  it('counts the existing rows', async () => {
    const { rows } = await client.query(`
      SELECT run_key::int8::text AS run, level, to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24') AS hour,
        log_count::int AS count
      FROM execution_log_counts ORDER BY hour, level`);
    expect(rows).toEqual([
      { run: '1', level: '', hour: '1970-01-01 00', count: 1 },
      { run: '1', level: 'info', hour: '2024-03-01 10', count: 2 },
      { run: '4294967296', level: 'warn', hour: '2024-03-01 11', count: 1 },
    ]);
    const totals = await client.query(`
      SELECT run_key::int AS run, archive_size_bytes::text AS bytes FROM backup_result_totals
      ORDER BY 1`);
    expect(totals.rows).toEqual([
      { run: 1, bytes: '100' },
      { run: 2, bytes: '9223372036854775808' },
    ]);
  });

  it('continues log ids beyond the range of an int', async () => {
    const insert = "INSERT INTO execution_logs (message) VALUES ('new') RETURNING id::text, level";
    expect((await client.query(insert)).rows).toEqual([{ id: '5', level: 'info' }]);
    await client.query("SELECT setval('execution_logs_id_seq', 2147483647)");
    expect((await client.query(insert)).rows).toEqual([{ id: '2147483648', level: 'info' }]);
  });

  it('accepts our rows, and those of a writer that knows only the old columns', async () => {
    const { rows } = await client.query(`
      WITH old AS (INSERT INTO backup_runs (status) VALUES ('running') RETURNING exclusive_key),
        ours AS (
          INSERT INTO backup_runs (exclusive_key, heartbeat_at) VALUES ('worker', now())
          RETURNING exclusive_key, status, total_repos, error_message
        )
      SELECT old.exclusive_key AS old, ours.* FROM old, ours`);
    expect(rows).toEqual([
      { old: null, exclusive_key: 'worker', status: 'running', total_repos: 0, error_message: '' },
    ]);
    const second = client.query("INSERT INTO backup_runs (exclusive_key) VALUES ('worker')");
    await expect(second).rejects.toMatchObject({ code: '23505' });
  });
});

describe('a database of an older writer', () => {
  let database: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await createPostgres({ migrated: false });
    client = await connect(database.url);
    await client.query(legacyTables);
  });
  afterAll(async () => {
    await client.end();
    await database.close();
  });

  it('is migrated after open transactions, whose rows are counted', async () => {
    await client.query("BEGIN; INSERT INTO execution_logs (level) VALUES ('info')");
    const migrating = migrate(database.db, 'drizzle');
    const watcher = await connect(database.url);
    const waiting = `SELECT count(*)::int AS count FROM pg_locks
      WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
    await expect
      .poll(async () => (await watcher.query(waiting)).rows, { timeout: 120_000 })
      .toEqual([{ count: 1 }]);
    await client.query("INSERT INTO execution_logs (level) VALUES ('info')");
    await client.query('COMMIT');
    await migrating;
    const counts = 'SELECT level, log_count::int AS count FROM execution_log_counts';
    expect((await watcher.query(counts)).rows).toEqual([{ level: 'info', count: 2 }]);
    await watcher.end();
  });
});

it('the migration widens a sequence that the column does not own', async () => {
  const database = await createPostgres({ migrated: false });
  const client = await connect(database.url);
  await client.query(`CREATE SEQUENCE log_numbers AS int START 2147483647;
    CREATE TABLE execution_logs (id int PRIMARY KEY DEFAULT nextval('log_numbers'));
    INSERT INTO execution_logs DEFAULT VALUES`);
  await migrate(database.db, 'drizzle');
  const insert = 'INSERT INTO execution_logs DEFAULT VALUES RETURNING id::text';
  expect((await client.query(insert)).rows).toEqual([{ id: '2147483648' }]);
  await client.end();
  await database.close();
});
