import { once } from 'node:events';
import { EventSource } from 'eventsource';
import { vi } from 'vitest';
import { type RawData, WebSocket } from 'ws';
import type { Database, Statement } from '../../lib/database/database.ts';
import { type RunningServer, serveNode } from '../../lib/http/server/serve.ts';
import { createLiveApp, type LiveAppOptions } from '../../lib/live/app.ts';
import { createTestDeps, type TestDeps, type TestDepsOptions, withSecret } from './deps.ts';
import { connectRaw, type RawClient } from './raw-client.ts';

/** A live log message. */
export interface LiveMessage {
  type: string;
  id: number;
  level: string;
  message: string;
  repository: string;
  timestamp: string;
}

export interface LiveServer extends Pick<RunningServer, 'url' | 'port'> {
  deps: TestDeps;
  /** Ends the clients and the server as a shutdown does. */
  shutDown(): Promise<void>;
  /** Ends everything without waiting. */
  close(): Promise<void>;
}

/** Starts the live feed as it ships on a listening server, with a clock that stands still. */
export async function startLive(
  options: TestDepsOptions & LiveAppOptions = {},
): Promise<LiveServer> {
  const deps = createTestDeps(options);
  const live = createLiveApp(deps, options);
  const server = await serveNode({
    fetch: live.app.fetch,
    host: '127.0.0.1',
    port: 0,
    log: deps.log,
    clock: deps.clock,
  });
  const shutDown = async () => {
    await Promise.all([live.close(), server.close()]);
  };
  return {
    url: server.url,
    port: server.port,
    deps,
    shutDown,
    async close() {
      const closed = shutDown();
      // Does not wait for clients.
      while (!(await Promise.race([closed.then(() => true), turn()]))) deps.clock.advance(10_000);
    },
  };
}

/** One turn of the event loop. */
const turn = () => new Promise<false>((resolve) => setImmediate(() => resolve(false)));

/** Advances the clock, one poll at a time, until a check no longer throws. */
export function advanceUntil(deps: TestDeps, check: () => void | Promise<void>): Promise<void> {
  return vi.waitFor(
    async () => {
      deps.clock.advance(2_000);
      await turn();
      await check();
    },
    { timeout: 120_000, interval: 10 },
  );
}

/** Resolves when the clock has exactly this many sleepers: all work that needs no time is done. */
export function untilAsleep(deps: TestDeps, sleepers: number): Promise<void> {
  return vi.waitFor(
    () => {
      if (deps.clock.sleepers() !== sleepers) throw new Error(`${deps.clock.sleepers()} sleep`);
    },
    { timeout: 120_000, interval: 2 },
  );
}

export interface EventClient {
  source: EventSource;
  messages: LiveMessage[];
  ids(): number[];
  /** The id that a reconnection would send. */
  lastId(): string;
  close(): void;
}

/** A real EventSource on the stream. Resolves when it is open. */
export async function openEvents(
  { url }: { url: string },
  path = '/api/logs/stream',
  headers: Record<string, string> = {},
): Promise<EventClient> {
  const source = new EventSource(`${url}${path}`, {
    fetch: (address, init) =>
      fetch(address, { ...init, headers: { ...init.headers, ...withSecret, ...headers } }),
  });
  const messages: LiveMessage[] = [];
  let lastId = '';
  source.addEventListener('log', (event: { data: string; lastEventId: string }) => {
    messages.push(JSON.parse(event.data));
    lastId = event.lastEventId;
  });
  await new Promise<void>((resolve, reject) => {
    source.addEventListener('open', () => resolve());
    source.addEventListener('error', ({ code, message }) =>
      reject(new Error(`${code} ${message}`)),
    );
  });
  return {
    source,
    messages,
    ids: () => messages.map(({ id }) => id),
    lastId: () => lastId,
    close: () => source.close(),
  };
}

/** Reads a stream byte by byte. Resolves when its headers and its first lines have arrived. */
export async function openRawStream(
  { port }: { port: number },
  path = '/api/logs/stream',
  headers: Record<string, string> = {},
): Promise<RawClient> {
  const client = await connectRaw(port);
  // `until` leaves a listener behind for each chunk that it waited for.
  client.socket.setMaxListeners(0);
  client.send(requestOf(path, { ...withSecret, ...headers }));
  await client.until(/retry: 5000\n\n/);
  return client;
}

/** The bytes of a GET request. */
export function requestOf(path: string, headers: Record<string, string>): string {
  const lines = Object.entries({ Host: 'localhost', ...headers }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  return `GET ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`;
}

export interface SocketClient {
  ws: WebSocket;
  messages: LiveMessage[];
  ids(): number[];
  /** Resolves with the close code. */
  closed: Promise<number>;
}

/** A WebSocket that is open. Throws `unexpected server response: <status>` when it is refused. */
export async function openSocket(
  { port }: { port: number },
  headers: Record<string, string> = withSecret,
  options: { autoPong?: boolean } = {},
): Promise<SocketClient> {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/ws/live`, { headers, ...options });
  const messages: LiveMessage[] = [];
  ws.on('message', (data: RawData, isBinary) => {
    if (isBinary) throw new Error('a binary message');
    messages.push(JSON.parse(String(data)));
  });
  const closed = new Promise<number>((resolve) => ws.once('close', resolve));
  await once(ws, 'open');
  ws.on('error', () => undefined);
  return { ws, messages, ids: () => messages.map(({ id }) => id), closed };
}

/** A database that a test can watch and break. */
export interface WatchedDatabase extends Database {
  /** The names of all statements so far. */
  statements: string[];
  /** Runs work before each statement; if it throws, so does the statement. */
  before(work: (statement: Statement) => void | Promise<void>): void;
}

/** Passes every statement on, after the work that a test does before it. */
export function watch(db: Database): WatchedDatabase {
  const statements: string[] = [];
  let work: (statement: Statement) => void | Promise<void> = () => undefined;
  return {
    ...db,
    statements,
    before(next) {
      work = next;
    },
    async query(statement, values, options) {
      statements.push(statement.name ?? statement.text);
      await work(statement);
      return db.query(statement, values, options);
    },
  };
}
