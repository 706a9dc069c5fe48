import type { TestProject } from 'vitest/node';
import { systemClock } from '../../lib/platform/clock.ts';
import { migrate } from '../../lib/platform/database/migrate.ts';
import { openDatabase } from '../../lib/platform/database/open.ts';
import { createLog } from '../../lib/platform/log.ts';
import { connect, databaseUrl } from './connection.ts';
import { startPostgres } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a superuser on the Postgres that all test files share. */
    postgresUrl: string;
    /** Name of the database there that holds our migrations and nothing else. */
    migratedDatabase: string;
  }
}

const migratedDatabase = 'migrated';

/** Starts the Postgres that all test files share, and makes the database that theirs are cloned from. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres();
  try {
    const admin = await connect(server.url);
    await admin.query(`CREATE DATABASE ${migratedDatabase}`);
    await admin.end();
    const url = databaseUrl(server.url, migratedDatabase);
    const log = createLog('warn', systemClock);
    const db = await openDatabase({ url, fetch, log });
    await migrate(db, 'drizzle');
    await db.close();
  } catch (error) {
    await server.stop();
    throw error;
  }
  project.provide('postgresUrl', server.url);
  project.provide('migratedDatabase', migratedDatabase);
  return () => server.stop();
}
