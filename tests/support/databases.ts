import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { type Clock, systemClock } from '../../lib/clock.ts';
import type { Database } from '../../lib/database/database.ts';
import { type EmbeddedDatabase, openEmbeddedDatabase } from '../../lib/database/embedded/open.ts';
import type { PortOptions } from '../../lib/database/embedded/server.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { createLog, type Log } from '../../lib/log/log.ts';
import { connect, databaseUrl } from './connection.ts';
import { copyTemplate, type Template } from './embedded-templates.ts';
import { neonUrl, startNeonEndpoint } from './neon-http.ts';

/** A separate database for a test file. */
export interface TestDatabase {
  readonly db: Database;
  /** A URL with which `connect` reaches the same data in plain SQL. */
  readonly url: string;
  /** Closes the handle and removes the database. */
  close(): Promise<void>;
}

export interface TestDatabaseOptions {
  /** Whether to start with our tables (the default) or with nothing. */
  migrated?: boolean;
}

/** A log for tests that do not read it. */
export const silentLog: Log = createLog('error', systemClock, () => undefined);

/** A fresh database on the shared Postgres, over the `pg` driver. */
export async function createPostgres(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const { url, drop } = await createDatabase(options);
  // The time to connect must not depend on how busy the machine is.
  const db = await openDatabase({ url, fetch, log: silentLog, connectTimeoutMs: 60_000 });
  return {
    db,
    url,
    async close() {
      await db.close();
      await drop();
    },
  };
}

/** A fresh database on the shared Postgres, over the Neon HTTP driver and a stand-in for its endpoint. */
export async function createNeon(options: TestDatabaseOptions = {}): Promise<TestDatabase> {
  const { url, drop } = await createDatabase(options);
  const endpoint = await startNeonEndpoint(url);
  const db = await openDatabase({ url: neonUrl(url), fetch: endpoint.fetch, log: silentLog });
  return {
    db,
    url,
    async close() {
      await db.close();
      await endpoint.close();
      await drop();
    },
  };
}

/** A fresh embedded database. */
export async function createEmbedded({
  migrated = true,
  listen = null,
  clock = systemClock,
  ...more
}: TestDatabaseOptions & {
  listen?: PortOptions | null;
  clock?: Clock;
  maxWaitMs?: number;
} = {}): Promise<TestDatabase & { db: EmbeddedDatabase; dataDir: string }> {
  const dataDir = await makeDataDir(migrated ? 'migrated' : 'empty');
  const db = await openEmbeddedDatabase({ dataDir, listen, log: silentLog, clock, ...more });
  return {
    db,
    dataDir,
    url: db.url,
    async close() {
      await db.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** A data directory with a database in it. */
export async function makeDataDir(template: Template): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'embedded-'));
  copyTemplate(inject('embeddedTemplates'), dataDir, template);
  return dataDir;
}

/** Each driver with its server. For `describe.each`. */
export const everyDatabase = [
  ['the embedded database', createEmbedded],
  ['Postgres', createPostgres],
  ['Neon', createNeon],
] as const;

async function createDatabase({ migrated = true }: TestDatabaseOptions) {
  const serverUrl = inject('postgresUrl');
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  const template = migrated ? inject('migratedDatabase') : 'template0';
  await runOnServer(serverUrl, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
  return {
    url: databaseUrl(serverUrl, name),
    drop: () => runOnServer(serverUrl, `DROP DATABASE ${name} WITH (FORCE)`),
  };
}

async function runOnServer(serverUrl: string, sql: string): Promise<void> {
  const client = await connect(serverUrl);
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
