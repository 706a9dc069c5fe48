import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { countMissing, migrate } from '../../lib/database/migrate.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { connect } from '../support/connection.ts';
import {
  createEmbedded,
  createNeon,
  createPostgres,
  silentLog,
  type TestDatabase,
} from '../support/databases.ts';

const journal = JSON.parse(readFileSync('drizzle/meta/_journal.json', 'utf8')) as {
  entries: { tag: string; when: number }[];
};
const countOfAll = journal.entries.length;

const toClose: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

async function createEmpty(create: typeof createPostgres): Promise<TestDatabase> {
  const database = await create({ migrated: false });
  toClose.push(() => database.close());
  return database;
}

describe.each([
  { driver: 'embedded', create: createEmbedded },
  { driver: 'pg', create: createPostgres },
  { driver: 'neon', create: createNeon },
])('migrations over $driver', ({ create }) => {
  it('are applied once', async () => {
    const { db } = await createEmpty(create);
    expect(await migrate(db, 'drizzle')).toBe(countOfAll);
    expect(await migrate(db, 'drizzle')).toBe(0);
    const applied = await db.query({
      text: 'SELECT created_at::text FROM drizzle.__drizzle_migrations ORDER BY id',
    });
    expect(applied).toEqual(journal.entries.map(({ when }) => ({ created_at: String(when) })));
  });

  it('replace all functions and triggers if they are not those of this version', async () => {
    const { db } = await createEmpty(create);
    await migrate(db, 'drizzle');
    const read = () =>
      db.query({
        text: `SELECT md5(string_agg(pg_get_functiondef(oid), '' ORDER BY proname, oid::regprocedure::text)) AS functions,
            (SELECT md5(string_agg(pg_get_triggerdef(oid) || tgenabled::text, '' ORDER BY tgrelid::regclass::text, tgname)) FROM pg_trigger) AS triggers
          FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prolang <>
            (SELECT oid FROM pg_language WHERE lanname = 'c') AND prokind = 'f'`,
      });
    const before = await read();
    await db.query({
      text: `CREATE OR REPLACE FUNCTION ignore_summary_row() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'`,
    });
    await db.query({ text: 'DROP TRIGGER count_added_logs ON execution_logs' });
    expect(await countMissing(db, 'drizzle')).toBe(0);
    await db.query({ text: "COMMENT ON SCHEMA drizzle IS 'functions of another version'" });
    expect(await countMissing(db, 'drizzle')).toBe(1);
    await migrate(db, 'drizzle');
    expect(await countMissing(db, 'drizzle')).toBe(0);
    expect(await read()).toEqual(before);
  });

  it('change nothing if their SQL runs again', async () => {
    const { db } = await createEmpty(create);
    await migrate(db, 'drizzle');
    await db.query({ text: 'INSERT INTO backup_runs DEFAULT VALUES' });
    await db.query({
      text: "INSERT INTO execution_logs (run_id, level) VALUES (1, 'INFO'), (NULL, 'warn')",
    });
    await db.query({
      text: "INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes) VALUES (1, 'o/r', 7)",
    });
    const read = () =>
      db.query({
        text: `SELECT (SELECT json_agg(l)::text FROM execution_logs l) AS logs,
          (SELECT json_agg(c ORDER BY level)::text FROM (
            SELECT run_key, level, hour, log_count FROM execution_log_counts) c) AS counts,
          (SELECT sum(archive_size_bytes)::text FROM backup_result_totals) AS total`,
      });
    const before = await read();
    await db.query({ text: 'DELETE FROM drizzle.__drizzle_migrations' });
    expect(await migrate(db, 'drizzle')).toBe(countOfAll);
    expect(await read()).toEqual(before);
  });
});

describe('migrations', () => {
  it('are applied once if several processes start together', async () => {
    const { db, url } = await createEmpty(createPostgres);
    const others = await Promise.all(
      [1, 2, 3].map(() => openDatabase({ url, fetch, log: silentLog })),
    );
    for (const other of others) toClose.push(() => other.close());
    await Promise.all([db, ...others].map((database) => migrate(database, 'drizzle')));
    const [row] = await db.query({
      text: 'SELECT count(*)::int AS count FROM drizzle.__drizzle_migrations',
    });
    expect(row).toEqual({ count: countOfAll });
  });

  it('leave no trace of a failed one, and are applied once the fault is fixed', async () => {
    const { db } = await createEmpty(createPostgres);
    await db.query({ text: 'CREATE VIEW execution_log_counts AS SELECT 1 AS id' });
    await expect(migrate(db, 'drizzle')).rejects.toMatchObject({
      message: 'the migrations could not be applied',
      cause: { code: '42809' },
    });
    const tables = { text: "SELECT to_regclass('backup_runs')::text AS made" };
    expect(await db.query(tables)).toEqual([{ made: null }]);
    await db.query({ text: 'DROP VIEW execution_log_counts' });
    expect(await migrate(db, 'drizzle')).toBe(countOfAll);
    expect(await db.query(tables)).toEqual([{ made: 'backup_runs' }]);
  });

  it('need only the right to read their journal if there is nothing to do', async () => {
    const { db, url } = await createEmpty(createPostgres);
    await migrate(db, 'drizzle');
    const role = `reader_${new URL(url).pathname.slice(1)}`;
    const admin = await connect(url);
    toClose.push(async () => {
      await admin.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
      await admin.end();
    });
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'reader';
      GRANT USAGE ON SCHEMA drizzle TO ${role};
      GRANT SELECT ON drizzle.__drizzle_migrations TO ${role}`);
    const readerUrl = Object.assign(new URL(url), { username: role, password: 'reader' }).href;
    const reader = await openDatabase({ url: readerUrl, fetch, log: silentLog });
    toClose.push(() => reader.close());
    expect(await migrate(reader, 'drizzle')).toBe(0);
  });
});
