import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Database } from '../../lib/database/database.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { silentLog } from './databases.ts';

/** A database whose server does not listen. Its URL contains words that no response may contain. */
export async function openDownDatabase(): Promise<Database> {
  const url = `postgres://nobody:hunter2@127.0.0.1:${await findClosedPort()}/nothing`;
  return openDatabase({ url, fetch, log: silentLog });
}

/** What a response must not reveal about that database. */
export const downDatabaseWords = /ECONN|127\.0\.0\.1|hunter2|nobody|nothing/;

/** A port that was free a moment ago, so nothing listens on it. */
export async function findClosedPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}
