import { cp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { migrate } from '../../lib/database/migrate.ts';
import { recordVersion } from '../../lib/records/recording/versions.ts';
import {
  createEmbedded,
  createNeon,
  createPostgres,
  type TestDatabase,
} from '../support/databases.ts';
import { useSharedFolder } from '../support/folders.ts';
import { sql } from '../support/records.ts';

// The migration that adds versions, applied to a database that was already in use.

const EARLIER = 11;

/** A copy of the migrations before this one. */
async function copyEarlier(folder: string): Promise<string> {
  const drizzle = join(folder, 'drizzle');
  await cp('drizzle', drizzle, { recursive: true });
  // Triggers on a table that did not exist yet.
  await rm(join(drizzle, 'functions/restore-drills.sql'));
  const path = join(drizzle, 'meta/_journal.json');
  const journal = JSON.parse(await readFile(path, 'utf8')) as { entries: { idx: number }[] };
  const entries = journal.entries.filter(({ idx }) => idx <= EARLIER);
  await writeFile(path, JSON.stringify({ ...journal, entries }));
  return drizzle;
}

const rows = `SELECT
  (SELECT json_agg(row ORDER BY id)::text FROM (
    SELECT id, status, started_at, heartbeat_at, exclusive_key FROM backup_runs) AS row) AS runs,
  (SELECT json_agg(row ORDER BY id)::text FROM (
    SELECT id, run_id, repo_full_name, status, archive_size_bytes FROM backup_results) AS row) AS results`;

describe.each([
  { driver: 'embedded', create: createEmbedded },
  { driver: 'pg', create: createPostgres },
  { driver: 'neon', create: createNeon },
])('a database without versions, migrated over $driver', ({ create }) => {
  let database: TestDatabase;
  const folder = useSharedFolder();
  let before: unknown[];

  beforeAll(async () => {
    database = await create({ migrated: false });
    const { db } = database;
    expect(await migrate(db, await copyEarlier(folder))).toBe(EARLIER + 1);
    await sql(
      db,
      `INSERT INTO backup_runs (status, heartbeat_at, exclusive_key)
       SELECT CASE n WHEN 40 THEN 'running' ELSE 'completed' END, now(), CASE n WHEN 40 THEN 'worker' END
       FROM generate_series(1, 40) AS n`,
    );
    await sql(
      db,
      `INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes)
       SELECT 1 + n % 40, 'acme/app-' || n % 9, n FROM generate_series(1, 2000) AS n`,
    );
    before = await sql(db, rows);
    expect(await migrate(db, 'drizzle')).toBeGreaterThan(0);
  });
  afterAll(() => database.close());

  it('keeps every row, with unknown values in the new columns', async () => {
    expect(await sql(database.db, rows)).toEqual(before);
    const [added] = await sql(
      database.db,
      `SELECT (SELECT count(*)::int FROM backup_results WHERE incomplete IS NULL AND tries IS NULL) AS results,
        (SELECT count(*)::int FROM backup_runs WHERE progress IS NULL) AS runs`,
    );
    expect(added).toEqual({ results: 2_000, runs: 40 });
  });

  it('accepts versions, and rows of a writer that knows only the old columns', async () => {
    await sql(database.db, "INSERT INTO backup_runs (status) VALUES ('running')");
    const recorded = await recordVersion(database.db, {
      repository: 'acme/app-1',
      version: 1,
      runId: 41,
      at: '2026-03-01T10:00:00Z',
      headBranch: null,
      refCount: 1,
      refsSha256: '',
      manifestSha256: 'a',
      archiveKey: 'acme__app-1.bundle',
      files: 1,
      sizeBytes: 1,
      newBytes: 1,
      warning: null,
      anomalies: [],
      changes: { since: null, refs: new Map([['refs/heads/main', 'a']]) },
    });
    expect(recorded).toBe(true);
    expect(await sql(database.db, 'SELECT name FROM archive_refs')).toEqual([
      { name: 'refs/heads/main' },
    ]);
  });

  it('is migrated once', async () => {
    expect(await migrate(database.db, 'drizzle')).toBe(0);
  });
});
