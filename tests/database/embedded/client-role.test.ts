import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type EmbeddedDatabase,
  openEmbeddedDatabase,
} from '../../../lib/database/embedded/open.ts';
import { createTestClock } from '../../support/clock.ts';
import { connect } from '../../support/connection.ts';
import { silentLog } from '../../support/databases.ts';
import { useSharedFolder } from '../../support/folders.ts';

const parent = useSharedFolder();
let db: EmbeddedDatabase;
let client: Client;

async function open(): Promise<void> {
  const dataDir = join(parent, 'data');
  const clock = createTestClock();
  db = await openEmbeddedDatabase({ dataDir, listen: null, log: silentLog, clock });
  client = await connect(db.url);
}

// A data directory from when every client was a superuser.
beforeAll(async () => {
  const dataDir = join(parent, 'data');
  await mkdir(dataDir, { mode: 0o755 });
  const old = await PGlite.create(join(dataDir, 'postgres'));
  await old.exec(`
    CREATE TABLE t (a serial PRIMARY KEY, b int GENERATED ALWAYS AS IDENTITY);
    CREATE SCHEMA "My schema"; CREATE TABLE "My schema"."A b" (a int);
    CREATE VIEW v AS SELECT a FROM t; CREATE SEQUENCE s;
    CREATE MATERIALIZED VIEW m AS SELECT a FROM t;
    CREATE TABLE p (a int) PARTITION BY LIST (a); CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
    CREATE TYPE mood AS ENUM ('ok'); CREATE DOMAIN positive AS int; CREATE TYPE pair AS (a int, b int);
    CREATE TEXT SEARCH CONFIGURATION c (COPY = english);
    CREATE FUNCTION f(a int, b text) RETURNS text LANGUAGE sql SECURITY DEFINER
      AS 'SELECT pg_read_file(''PG_VERSION'')';
    CREATE PROCEDURE r() LANGUAGE sql AS 'SELECT 1'`);
  await old.close();
  await open();
});
afterAll(async () => {
  await client.end();
  await db.close();
});

it.each([
  "COPY (SELECT 1) TO '/tmp/out'",
  "COPY t FROM '/pglite/data/PG_VERSION'",
  "COPY (SELECT 1) TO PROGRAM 'touch /tmp/out'",
  "COPY t FROM PROGRAM 'id'",
  "SELECT lo_import('/etc/passwd')",
  "SELECT lo_export(1, '/tmp/out')",
  "SELECT pg_read_file('PG_VERSION')",
  "SELECT pg_read_binary_file('PG_VERSION')",
  "SELECT pg_ls_dir('.')",
  "SELECT f(1, '')",
  "LOAD '/pglite/lib/postgresql/vector'",
  "CREATE FUNCTION c() RETURNS int LANGUAGE c AS 'x', 'y'",
  "ALTER SYSTEM SET work_mem = '9MB'",
  'UPDATE pg_authid SET rolsuper = true',
  'CREATE ROLE evil SUPERUSER',
  'ALTER ROLE observatory SUPERUSER',
])('a client cannot reach beyond the data: %s', async (text) => {
  await expect(client.query(text)).rejects.toMatchObject({ code: '42501' });
  await expect(db.query({ text })).rejects.toMatchObject({ code: '42501' });
});

describe('the rights of a superuser', () => {
  it.each([
    'RESET SESSION AUTHORIZATION',
    'SET SESSION AUTHORIZATION DEFAULT',
    'SET SESSION AUTHORIZATION postgres',
    'SET ROLE postgres',
    'SET LOCAL ROLE postgres',
    'SET ROLE NONE',
    "SELECT set_config('session_authorization', 'postgres', false)",
    "SELECT set_config('role', 'postgres', false)",
    `CREATE FUNCTION g() RETURNS int LANGUAGE sql SET role = 'postgres' AS 'SELECT 1'`,
    "ALTER ROLE observatory SET session_authorization = 'postgres'",
    `BEGIN; SELECT 1 / 0; ROLLBACK; SET SESSION AUTHORIZATION postgres`,
    'DO $$ BEGIN PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN SET ROLE postgres; END $$',
  ])('cannot be gained by %s', async (text) => {
    await expect(client.query(text)).rejects.toMatchObject({
      code: expect.stringMatching(/^(42501|22012)$/),
    });
    await client.query('ROLLBACK');
    const { rows } = await client.query(
      "SELECT current_user AS name, current_setting('is_superuser') AS super",
    );
    expect(rows).toEqual([{ name: 'observatory', super: 'off' }]);
  });

  it('are not needed for anything else', async () => {
    await client.query(`CREATE EXTENSION vector; CREATE TEMP TABLE x AS SELECT '[1,2]'::vector AS v;
      DROP EXTENSION vector CASCADE; ALTER TABLE t DISABLE TRIGGER USER; TRUNCATE t; CREATE SCHEMA n`);
    await client.query('VACUUM (ANALYZE)');
    await client.query('CHECKPOINT');
    await client.query('REINDEX TABLE t');
  });
});

it('the client role owns objects of older versions', async () => {
  await client.query(`ALTER TABLE t ADD COLUMN c int; ALTER TABLE "My schema"."A b" ADD COLUMN c int;
    ALTER TABLE p1 ADD CHECK (a > 0); ALTER SEQUENCE s RESTART; ALTER TYPE mood ADD VALUE 'good';
    ALTER DOMAIN positive ADD CHECK (VALUE > 0); ALTER TYPE pair ADD ATTRIBUTE c int;
    ALTER TEXT SEARCH CONFIGURATION c RENAME TO d; REFRESH MATERIALIZED VIEW m;
    DROP VIEW v; DROP SCHEMA "My schema" CASCADE; DROP PROCEDURE r`);
  const { rows } = await client.query(
    'SELECT relname FROM pg_class WHERE relowner = 10 AND oid >= 16384',
  );
  expect(rows).toEqual([]);
});

it('a restart runs no code created by a client', async () => {
  await expect(client.query('ALTER DATABASE postgres SET search_path = public')).rejects.toThrow();
  await client.query(`
    CREATE FUNCTION grab(a oid, b int) RETURNS boolean LANGUAGE plpgsql AS $$
    BEGIN
      IF session_user OPERATOR(pg_catalog.=) 'postgres'::name THEN
        EXECUTE 'GRANT pg_read_server_files, pg_write_server_files TO observatory';
      END IF;
      RETURN a OPERATOR(pg_catalog.=) b::oid;
    END $$;
    CREATE OPERATOR public.= (LEFTARG = oid, RIGHTARG = int, FUNCTION = grab)`);
  await client.end();
  await db.close();
  await open();
  const { rows } = await client.query(
    `SELECT roleid::regrole::text AS role FROM pg_auth_members
     WHERE member = 'observatory'::regrole ORDER BY role`,
  );
  expect(rows).toEqual([{ role: 'pg_checkpoint' }, { role: 'pg_maintain' }]);
  await client.query('DROP OPERATOR public.= (oid, int); DROP FUNCTION grab');
});

it('all files are accessible to their owner only, even those of an older version', async () => {
  const dataDir = join(parent, 'data');
  const entries = await readdir(dataDir, { recursive: true });
  const open = [];
  for (const entry of ['.', ...entries]) {
    const found = await stat(join(dataDir, entry));
    if ((found.mode & 0o077) !== 0) open.push(entry);
  }
  expect(open).toEqual([]);
  expect(entries).toContain('.s.PGSQL.5432');
});
