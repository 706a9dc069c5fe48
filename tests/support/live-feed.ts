import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { createPostgres, type TestDatabase } from './databases.ts';
import type { TestDepsOptions } from './deps.ts';
import { type LiveServer, startLive, type WatchedDatabase, watch } from './live.ts';
import { empty } from './records.ts';

/** What a test of the live feed works with; made anew for each test but for the database. */
export interface LiveFeed {
  /** A Postgres of the test file, emptied before each test. */
  database: TestDatabase;
  /** The same database, as the server sees it. */
  db: WatchedDatabase;
  server: LiveServer;
}

/** Gives a test file a real Postgres, and each of its tests a live feed in front of it. */
export function setUpLiveFeed(options: Pick<TestDepsOptions, 'environment'> = {}): LiveFeed {
  const feed = {} as LiveFeed;
  beforeAll(async () => {
    feed.database = await createPostgres();
  });
  afterAll(() => feed.database.close());
  beforeEach(async () => {
    await empty(feed.database.db);
    feed.db = watch(feed.database.db);
    feed.server = await startLive({ db: feed.db, ...options });
  });
  afterEach(() => feed.server.close());
  return feed;
}
