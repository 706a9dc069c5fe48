import { cpSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { systemClock } from '../../lib/clock.ts';
import { migrate } from '../../lib/database/migrate.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { createLog } from '../../lib/log/log.ts';
import { connect, databaseUrl } from './connection.ts';
import { makeEmbeddedTemplates } from './embedded-templates.ts';
import { useMemoryForTemporaryFiles } from './memory-folder.ts';
import { startPostgres } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a superuser on the Postgres that all test files share. */
    postgresUrl: string;
    /** Name of the database there that holds our migrations and nothing else. */
    migratedDatabase: string;
    /** Path of the embedded databases that tests copy. */
    embeddedTemplates: string;
  }
}

const migratedDatabase = 'migrated';

/** Starts the Postgres that all test files share, and creates the databases from which theirs are copied. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const templates = await makeEmbeddedTemplates();
  const leaveMemory = useMemoryForTemporaryFiles();
  // Compiling takes half the time of our commands, so every process that a test starts reads the same cache.
  process.env.NODE_COMPILE_CACHE ??= join(tmpdir(), 'node-compile-cache');
  const server = await startPostgres();
  const stop = async () => {
    await server.stop();
    leaveMemory();
  };
  try {
    const admin = await connect(server.url);
    await admin.query(`CREATE DATABASE ${migratedDatabase}`);
    await admin.end();
    const url = databaseUrl(server.url, migratedDatabase);
    const log = createLog('warn', systemClock);
    const db = await openDatabase({ url, fetch, log });
    await migrate(db, 'drizzle');
    await db.close();
    const copy = await mkdtemp(join(tmpdir(), 'templates-'));
    cpSync(templates, copy, { recursive: true });
    project.provide('embeddedTemplates', copy);
  } catch (error) {
    await stop();
    throw error;
  }
  project.provide('postgresUrl', server.url);
  project.provide('migratedDatabase', migratedDatabase);
  return stop;
}
