import { afterAll, beforeAll, beforeEach } from 'vitest';
import { createBackupsApp } from '../../lib/backups/app.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Database } from '../../lib/database/database.ts';
import { serveNode } from '../../lib/http/server/serve.ts';
import { createRemoteSource } from '../../lib/mcp/remote/source.ts';
import type { BackupSource } from '../../lib/tools/backup-source.ts';
import { createDatabaseSource } from '../../lib/tools/database-source.ts';
import type { ToolDeps } from '../../lib/tools/tool.ts';
import { createTestClock, type TestClock } from './clock.ts';
import {
  createPostgres,
  silentLog,
  type TestDatabase,
  type TestDatabaseOptions,
} from './databases.ts';
import { createTestDeps, TEST_SECRET } from './deps.ts';
import { empty } from './records.ts';
import { createTestToolDeps } from './tools.ts';

/** A data source for tools, over a database that a test fills. */
export interface TestSource {
  source: BackupSource;
  database: TestDatabase;
  clock: TestClock;
  close(): Promise<void>;
}

/** Reads directly from a real Postgres. */
export async function openDatabaseSource(options?: TestDatabaseOptions): Promise<TestSource> {
  const database = await createPostgres(options);
  const clock = createTestClock();
  return {
    source: createDatabaseSource({
      ...{ db: database.db, clock, log: silentLog },
      config: { FRESHNESS_HOURS: 26 },
    }),
    database,
    clock,
    close: () => database.close(),
  };
}

/** Reads through the service API as it ships, on a listening server, over a real Postgres. */
export async function openRemoteSource(): Promise<TestSource> {
  const database = await createPostgres();
  const deps = createTestDeps({ db: database.db });
  const server = await serveNode({
    fetch: createBackupsApp(deps).fetch,
    host: '127.0.0.1',
    port: 0,
    log: silentLog,
    clock: systemClock,
  });
  return {
    source: createRemoteSource({
      url: server.url,
      secret: TEST_SECRET,
      fetch,
      clock: deps.clock,
      log: silentLog,
      timeoutMs: 120_000,
    }),
    database,
    clock: deps.clock,
    async close() {
      await server.close();
      await database.close();
    },
  };
}

/** Both data sources. For `describe.each`. */
export const everySource = [
  ['the database', openDatabaseSource],
  ['the service API', openRemoteSource],
] as const;

/** The data source of a test file or block, with its database. */
export interface SourceWorld {
  deps: ToolDeps;
  database: TestDatabase;
  db: Database;
}

/** Opens a data source for the tests of a file or block, and empties its database before each of them. */
export function setUpSource(open: () => Promise<TestSource> = openDatabaseSource): SourceWorld {
  const world = {} as SourceWorld;
  let opened: TestSource;
  beforeAll(async () => {
    opened = await open();
    const { source, database } = opened;
    Object.assign(world, {
      deps: createTestToolDeps({ backups: source }),
      database,
      db: database.db,
    });
  });
  afterAll(() => opened.close());
  beforeEach(() => empty(world.db));
  return world;
}
