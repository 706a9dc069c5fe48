import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../support/connection.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';

const schemaOptions = ['--dialect', 'postgresql', '--schema', 'drizzle/schema.ts'];

async function drizzleKit(...args: string[]): Promise<string> {
  const script = 'node_modules/drizzle-kit/bin.cjs';
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...args]);
  return stdout;
}

const columns = `
  SELECT relation.relname AS table, attname AS column, format_type(atttypid, atttypmod) AS type,
    attnotnull AS required, attidentity AS identity, pg_get_expr(adbin, adrelid) AS default
  FROM pg_attribute JOIN pg_class AS relation ON relation.oid = attrelid AND relkind = 'r'
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
  WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped
  ORDER BY 1, 2`;
/** The function that indexes use, preceded by the functions that it calls. */
const functions = `
  WITH RECURSIVE used AS (
    SELECT 'search_document'::regproc::oid AS id, 0 AS depth
    UNION ALL
    SELECT refobjid, depth + 1 FROM used JOIN pg_depend ON objid = used.id
    WHERE classid = 'pg_proc'::regclass AND refclassid = 'pg_proc'::regclass
  )
  SELECT pg_get_functiondef(id) AS definition FROM used GROUP BY id ORDER BY max(depth) DESC`;
const indexes = `SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1`;
const constraints = `
  SELECT conrelid::regclass::text AS table, conname AS name, pg_get_constraintdef(oid) AS definition
  FROM pg_constraint WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2`;

describe('the migrated database', () => {
  let migrated: TestDatabase;
  let declared: TestDatabase;
  let ofMigrations: Client;
  let ofSchema: Client;

  beforeAll(async () => {
    migrated = await createPostgres();
    declared = await createPostgres({ migrated: false });
    ofMigrations = await connect(migrated.url);
    ofSchema = await connect(declared.url);
    // Indexes use functions of ours, which drizzle/schema.ts cannot declare.
    const { rows } = await ofMigrations.query<{ definition: string }>(functions);
    for (const { definition } of rows) await ofSchema.query(definition);
    await ofSchema.query(await drizzleKit('export', ...schemaOptions));
  });
  afterAll(async () => {
    await ofMigrations.end();
    await ofSchema.end();
    await migrated.close();
    await declared.close();
  });

  it.each([
    { what: 'columns', query: columns },
    { what: 'indexes', query: indexes },
    { what: 'constraints', query: constraints },
  ])('has the $what of drizzle/schema.ts', async ({ query }) => {
    const { rows } = await ofSchema.query(query);
    expect(rows.length).toBeGreaterThan(10);
    expect((await ofMigrations.query(query)).rows).toEqual(rows);
  });
});

it('drizzle-kit has nothing to generate', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'drizzle-'));
  try {
    await cp('drizzle', folder, { recursive: true });
    const before = (await readdir(folder, { recursive: true })).sort();
    const output = await drizzleKit('generate', ...schemaOptions, '--out', relative('.', folder));
    expect(output).toContain('No schema changes');
    expect((await readdir(folder, { recursive: true })).sort()).toEqual(before);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
