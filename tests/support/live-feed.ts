import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { createPostgres, type TestDatabase } from './databases.ts';
import type { TestDepsOptions } from './deps.ts';
import {
  advanceUntil,
  type EventClient,
  type LiveServer,
  openEvents,
  openSocket,
  type SocketClient,
  startLive,
  type WatchedDatabase,
  watch,
} from './live.ts';
import { empty } from './records.ts';

/** The environment of a live feed test. All but the database is new for each test. */
export interface LiveFeed {
  /** A Postgres of the test file, emptied before each test. */
  database: TestDatabase;
  /** The same database, as the server sees it. */
  db: WatchedDatabase;
  server: LiveServer;
  /** Opens a stream, which is closed after the test. */
  openEvents(path?: string, headers?: Record<string, string>): Promise<EventClient>;
  /** Opens a WebSocket, which is closed after the test. */
  openSocket(
    headers?: Record<string, string>,
    options?: { autoPong?: boolean },
  ): Promise<SocketClient>;
  /** Advances the clock, one poll at a time, until a check no longer throws. */
  until(check: () => void | Promise<void>): Promise<void>;
}

/** Gives a test file a real Postgres, and each of its tests a live feed in front of it. */
export function setUpLiveFeed(options: Pick<TestDepsOptions, 'environment'> = {}): LiveFeed {
  const closing: (() => void)[] = [];
  const feed = {
    async openEvents(...options) {
      const client = await openEvents(feed.server, ...options);
      closing.push(client.close);
      return client;
    },
    async openSocket(...options) {
      const client = await openSocket(feed.server, ...options);
      closing.push(() => client.ws.terminate());
      return client;
    },
    until: (check) => advanceUntil(feed.server.deps, check),
  } as LiveFeed;
  beforeAll(async () => {
    feed.database = await createPostgres();
  });
  afterAll(() => feed.database.close());
  beforeEach(async () => {
    await empty(feed.database.db);
    feed.db = watch(feed.database.db);
    feed.server = await startLive({ db: feed.db, ...options });
  });
  afterEach(() => {
    for (const close of closing.splice(0)) close();
    return feed.server.close();
  });
  return feed;
}
