import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { type ChatServer, chatEnvironment, emptyChat, startChatServer } from './chat.ts';
import { createPostgres, type TestDatabase } from './databases.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { type WatchedDatabase, watch } from './live.ts';
import { empty } from './records.ts';

/** The environment of a chat test. All but the database is new for each test. */
export interface ChatWorld {
  /** A Postgres of the test file, emptied before each test. */
  database: TestDatabase;
  /** The same database, as the server sees it. */
  db: WatchedDatabase;
  gateway: Gateway;
  server: ChatServer;
}

/** Gives a test file a real Postgres, and each of its tests a listening observatory and its gateway. */
export function setUpChat(): ChatWorld {
  const chat = {} as ChatWorld;
  beforeAll(async () => {
    chat.database = await createPostgres();
  });
  afterAll(() => chat.database.close());
  beforeEach(async () => {
    await empty(chat.database.db);
    await emptyChat(chat.database.db);
    chat.db = watch(chat.database.db);
    chat.gateway = await startGateway();
    chat.server = await startChatServer({
      db: chat.db,
      environment: chatEnvironment(chat.gateway),
    });
  });
  afterEach(async () => {
    await chat.server.close();
    await chat.gateway.close();
  });
  return chat;
}
