import { readMigrationFiles } from 'drizzle-orm/migrator';
import type { Database } from './database.ts';

/** Any number that nothing else in the database locks. */
const LOCK_KEY = 7_205_759_403_792;
const MIGRATION_TIMEOUT_MS = 60 * 60_000;

const createJournal = `
  CREATE SCHEMA IF NOT EXISTS drizzle;
  CREATE TABLE IF NOT EXISTS drizzle.__drizzle_migrations (
    id serial PRIMARY KEY, hash text NOT NULL, created_at bigint
  );`;

/**
 * Applies the migrations of a folder that the database does not have yet, and returns how many those
 * were. Each is one statement, so it happens whole or not at all over every driver, and it first takes a
 * lock, so that two processes apply it once. The journal is drizzle's own. (decisions 3)
 */
export async function migrate(database: Database, folder: string): Promise<number> {
  await runInLock(database, createJournal);
  const before = await countApplied(database);
  for (const { sql, hash, folderMillis } of readMigrationFiles({ migrationsFolder: folder })) {
    await runInLock(
      database,
      `IF NOT EXISTS (SELECT FROM drizzle.__drizzle_migrations WHERE created_at >= ${folderMillis}) THEN
         ${sql.map((part) => `EXECUTE ${quote(part)};`).join('\n')}
         INSERT INTO drizzle.__drizzle_migrations (hash, created_at)
         VALUES (${quote(hash)}, ${folderMillis});
       END IF;`,
    );
  }
  return (await countApplied(database)) - before;
}

function runInLock(database: Database, body: string): Promise<unknown> {
  const text = `PERFORM pg_advisory_xact_lock(${LOCK_KEY}); ${body}`;
  return database.query({ text: `DO ${quote(`BEGIN ${text} END`)}` }, [], {
    timeoutMs: MIGRATION_TIMEOUT_MS,
  });
}

async function countApplied(database: Database): Promise<number> {
  const [row] = await database.query<{ applied: number }>({
    text: 'SELECT count(*)::int AS applied FROM drizzle.__drizzle_migrations',
  });
  return row?.applied ?? 0;
}

/** A dollar-quoted literal whose tag the text does not hold. */
function quote(text: string): string {
  let tag = '$q$';
  for (let n = 0; text.includes(tag); n++) tag = `$q${n}$`;
  return `${tag}${text}${tag}`;
}
