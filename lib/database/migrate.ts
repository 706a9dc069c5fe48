import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import { AppError } from '../errors.ts';
import type { Database } from './database.ts';
import { sessionSettings } from './session-settings.ts';

/** Arbitrary; must only differ from other advisory locks. */
const LOCK_KEY = 7_205_759_403_792;
const MIGRATION_TIMEOUT_MS = 60 * 60_000;

/** Conditional, so that a role without the right to create schemas can start if there is nothing to do. */
const createJournal = `
  IF to_regclass('drizzle.__drizzle_migrations') IS NULL THEN
    CREATE SCHEMA IF NOT EXISTS drizzle;
    CREATE TABLE IF NOT EXISTS drizzle.__drizzle_migrations (
      id serial PRIMARY KEY, hash text NOT NULL, created_at bigint
    );
  END IF;`;

/** The SQL files with functions and triggers. */
interface Functions {
  files: string[];
  hash: string;
}

/**
 * Applies the pending migrations of a folder and returns how many there were. Then replaces all functions
 * and triggers with those in its subfolder `functions`, unless they are current. Each migration is one
 * statement, and so are all functions together: atomic with every driver. Each takes a lock first, so that
 * concurrent processes apply it once. Migrations are recorded in drizzle's own journal.
 *
 * Throws SERVICE_UNAVAILABLE when the database does not answer, INTERNAL_ERROR when a migration fails.
 */
export async function migrate(database: Database, folder: string): Promise<number> {
  const migrations = readMigrationFiles({ migrationsFolder: folder });
  try {
    const gained = await applyMissing(database, migrations);
    if (database.driver !== 'embedded') await applySettings(database);
    const functions = readFunctions(folder);
    // A migration may have created an older version of a function.
    if (gained > 0 || !(await hasFunctions(database, functions))) {
      await applyFunctions(database, functions);
    }
    return gained;
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    // For example missing privileges, or another program's table with the same name as one of ours.
    throw new AppError('INTERNAL_ERROR', 'the migrations could not be applied', { cause });
  }
}

/**
 * Counts the pending migrations of a folder without applying them. Outdated functions count as one.
 */
export async function countMissing(database: Database, folder: string): Promise<number> {
  const missing = await listMissing(database, readMigrationFiles({ migrationsFolder: folder }));
  return missing.length + ((await hasFunctions(database, readFunctions(folder))) ? 0 : 1);
}

/** The version of the applied functions is stored in a comment, which every role may read. */
const applied = `obj_description(to_regnamespace('drizzle')::oid, 'pg_namespace')`;
const markOf = (hash: string) => `functions ${hash}`;

function readFunctions(folder: string): Functions {
  const place = join(folder, 'functions');
  const files = readdirSync(place)
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => readFileSync(join(place, name), 'utf8'));
  return { files, hash: createHash('sha256').update(JSON.stringify(files)).digest('hex') };
}

async function hasFunctions(database: Database, { hash }: Functions): Promise<boolean> {
  const [row] = await database.query<{ applied: string | null }>({
    text: `SELECT ${applied} AS applied`,
  });
  return row?.applied === markOf(hash);
}

async function applyFunctions(database: Database, functions: Functions): Promise<void> {
  await runInLock(
    database,
    `${functions.files.map((file) => `EXECUTE ${quote(file)};`).join('\n')}
     COMMENT ON SCHEMA drizzle IS ${quote(markOf(functions.hash))};`,
  );
}

async function applyMissing(database: Database, migrations: MigrationMeta[]): Promise<number> {
  const missing = await listMissing(database, migrations);
  for (const { sql, hash, folderMillis } of missing) {
    await runInLock(
      database,
      `${createJournal}
       IF NOT EXISTS (
         SELECT FROM drizzle.__drizzle_migrations WHERE created_at = ${folderMillis}
       ) THEN
         ${sql.map((part) => `EXECUTE ${quote(part)};`).join('\n')}
         INSERT INTO drizzle.__drizzle_migrations (hash, created_at)
         VALUES (${quote(hash)}, ${folderMillis});
       END IF;`,
    );
  }
  return missing.length;
}

/**
 * Makes the settings of our sessions the defaults of this role in this database. Neon's HTTP driver and poolers cannot
 * apply them to a session. A role that may not change itself keeps its defaults.
 */
async function applySettings(database: Database): Promise<void> {
  const wanted = Object.entries(sessionSettings).map(([name, value]) => `${name}=${value}`);
  const [row] = await database.query<{ missing: boolean }>(
    {
      text: `SELECT NOT $1::text[] <@ coalesce((
        SELECT setconfig FROM pg_db_role_setting
        WHERE setrole = current_user::regrole
          AND setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
      ), '{}') AS missing`,
    },
    [wanted],
  );
  if (!row?.missing) return;
  const changes = Object.entries(sessionSettings).map(
    ([name, value]) =>
      `EXECUTE format('ALTER ROLE %I IN DATABASE %I SET ${name} = ${value}', current_user, current_database());`,
  );
  await runInLock(
    database,
    `BEGIN ${changes.join('\n')}
     EXCEPTION WHEN insufficient_privilege THEN RAISE WARNING 'the role may not change its settings'; END;`,
  );
}

async function listMissing(
  database: Database,
  migrations: MigrationMeta[],
): Promise<MigrationMeta[]> {
  const [journal] = await database.query<{ exists: boolean }>({
    text: `SELECT to_regclass('drizzle.__drizzle_migrations') IS NOT NULL AS exists`,
  });
  if (!journal?.exists) return migrations;
  const rows = await database.query<{ created_at: string }>({
    text: 'SELECT created_at::text FROM drizzle.__drizzle_migrations',
  });
  const applied = new Set(rows.map((row) => Number(row.created_at)));
  return migrations.filter(({ folderMillis }) => !applied.has(folderMillis));
}

function runInLock(database: Database, body: string): Promise<unknown> {
  const text = `PERFORM pg_advisory_xact_lock(${LOCK_KEY}); ${body}`;
  return database.query({ text: `DO ${quote(`BEGIN ${text} END`)}` }, [], {
    timeoutMs: MIGRATION_TIMEOUT_MS,
  });
}

/** Dollar-quotes a text with a tag that does not occur in it. */
function quote(text: string): string {
  let tag = '$q$';
  for (let n = 0; text.includes(tag); n++) tag = `$q${n}$`;
  return `${tag}${text}${tag}`;
}
