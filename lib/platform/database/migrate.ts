import { type MigrationMeta, readMigrationFiles } from 'drizzle-orm/migrator';
import { AppError } from '../errors.ts';
import type { Database } from './database.ts';

/** Any number that nothing else in the database locks. */
const LOCK_KEY = 7_205_759_403_792;
const MIGRATION_TIMEOUT_MS = 60 * 60_000;

/** A role without the right to make schemas can still start when there is nothing to do. */
const createJournal = `
  IF to_regclass('drizzle.__drizzle_migrations') IS NULL THEN
    CREATE SCHEMA IF NOT EXISTS drizzle;
    CREATE TABLE IF NOT EXISTS drizzle.__drizzle_migrations (
      id serial PRIMARY KEY, hash text NOT NULL, created_at bigint
    );
  END IF;`;

/**
 * Applies the migrations of a folder that the database does not have yet, and returns how many it has
 * gained meanwhile. Each is one statement, so it happens whole or not at all over every driver, and it
 * first takes a lock, so that two processes apply it once. The journal is drizzle's own. (decisions 3)
 * Throws SERVICE_UNAVAILABLE when the database does not answer, INTERNAL_ERROR when it refuses.
 */
export async function migrate(database: Database, folder: string): Promise<number> {
  const migrations = readMigrationFiles({ migrationsFolder: folder });
  try {
    return await applyMissing(database, migrations);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    // Rights that the role lacks, or a table of another program with one of our names.
    throw new AppError('INTERNAL_ERROR', 'the migrations could not be applied', { cause });
  }
}

/** How many migrations of a folder the database does not have yet. Nothing is changed. */
export async function countMissing(database: Database, folder: string): Promise<number> {
  return (await listMissing(database, readMigrationFiles({ migrationsFolder: folder }))).length;
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

/** A dollar-quoted literal whose tag the text does not hold. */
function quote(text: string): string {
  let tag = '$q$';
  for (let n = 0; text.includes(tag); n++) tag = `$q${n}$`;
  return `${tag}${text}${tag}`;
}
