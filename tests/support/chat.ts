import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { chooseConnectionLimits } from '../../lib/http/server/open-connections.ts';
import { createNodeServer, type RunningServer } from '../../lib/http/server/serve.ts';
import { createObservatoryApp } from '../../lib/observatory/app.ts';
import type { ChatEvent } from '../../lib/observatory/base/chat-events.ts';
import { createTestDeps, type TestDeps, type TestDepsOptions } from './deps.ts';
import type { Gateway } from './gateway.ts';
import { ADA, observatoryEnvironment, signToken } from './observatory-client.ts';
import { sql } from './records.ts';

/** A call of a tool by the scripted model. */
export interface ScriptedCall {
  /** Default: the model sends none. */
  id?: string;
  name: string;
  args?: unknown;
}

/** What the scripted model answers to one request, in this order. */
export interface ScriptedStep {
  text?: string[];
  calls?: ScriptedCall[];
  /** Awaited before the end. */
  gate?: Promise<unknown>;
  /** Replaces an orderly end: the connection closes, is reset, or stays open in silence. */
  instead?: 'close' | 'reset' | 'hang';
  /** Sends an event with an error before the end. */
  error?: { code?: number; message: string };
  /** The finish reason of an orderly end. Default: tool_calls with calls, otherwise stop. */
  finish?: string;
  /** Sends these events after the finish reason. */
  after?: unknown[];
}

/** Makes the gateway's chat models respond with these steps, one per request. */
export function scriptChat(gateway: Gateway, ...steps: ScriptedStep[]): void {
  const left = [...steps];
  gateway.routes.set('/chat/completions', (_request, response) => {
    const step = left.shift();
    if (!step) return void response.writeHead(500).end('{"error":{"message":"no step is left"}}');
    return void say(step, response);
  });
}

/** Sends one step as the gateway streams it. */
export async function say(step: ScriptedStep, response: ServerResponse): Promise<void> {
  const write = (value: unknown) => response.write(`data: ${JSON.stringify(value)}\n\n`);
  const delta = (fields: object, finish: string | null = null) =>
    write({ id: 'c', choices: [{ index: 0, delta: fields, finish_reason: finish }] });
  response.writeHead(200, { 'Content-Type': 'text/event-stream' });
  response.flushHeaders();
  for (const content of step.text ?? []) delta({ content });
  for (const [index, { id, name, args = {} }] of (step.calls ?? []).entries()) {
    const written = typeof args === 'string' ? args : JSON.stringify(args);
    const start = { name, arguments: written.slice(0, 3) };
    delta({ tool_calls: [{ index, ...(id ? { id } : {}), type: 'function', function: start }] });
    delta({ tool_calls: [{ index, function: { arguments: written.slice(3) } }] });
  }
  await step.gate;
  if (step.error) write({ error: step.error });
  if (step.instead === 'reset') return void response.destroy();
  if (step.instead === 'hang') return;
  if (step.instead === 'close') return void response.end();
  delta({}, step.finish ?? (step.calls ? 'tool_calls' : 'stop'));
  for (const event of step.after ?? []) write(event);
  response.end('data: [DONE]\n\n');
}

/** Configures two server keys and a default model, at a stand-in gateway. */
export const chatEnvironment = (gateway: Gateway) => ({
  GATEWAY_BASE_URL: gateway.url,
  GATEWAY_API_KEYS: 'server-key-number-1,server-key-number-2',
  GATEWAY_MODEL: 'acme/chat-paid',
});

/** A stored message. */
export interface StoredMessage {
  role: string;
  content: string;
  status: string | null;
  tool_calls: Record<string, unknown>[];
  request_id: string;
}

/** Every stored message, in order. */
export function readMessages(db: Database): Promise<StoredMessage[]> {
  const text =
    'SELECT role, content, status, tool_calls, request_id FROM chat_messages ORDER BY id';
  return sql<StoredMessage>(db, text);
}

/** Removes every session, message and gateway key. */
export async function emptyChat(db: Database): Promise<void> {
  await sql(db, 'TRUNCATE chat_sessions, chat_messages, gateway_connections CASCADE');
}

/** The messages that one request sent to the model. */
export function sentTo(gateway: Gateway, request: number) {
  const { body } = gateway.requestsTo('/chat/completions')[request] ?? {};
  return (body?.messages ?? []) as { role: string; content: string; tool_call_id?: string }[];
}

export interface ChatServer extends Pick<RunningServer, 'url' | 'port'> {
  deps: TestDeps;
  /**
   * A Unix socket of the same server. Its buffers in the kernel are small and do not grow, unlike those of TCP, which
   * hold 33 MB on some machines.
   */
  socketPath: string;
  /** Ends turns as the end of the process does. */
  stop(): void;
  post(path: string, json: unknown, username?: string): Promise<Response>;
  get(path: string, username?: string): Promise<Response>;
  close(): Promise<void>;
}

/** Starts the observatory as it ships on a listening server, with a clock that stands still. */
export async function startChatServer(options: TestDepsOptions = {}): Promise<ChatServer> {
  const environment = { ...observatoryEnvironment, ...options.environment };
  const deps = createTestDeps({ ...options, environment });
  const stopping = new AbortController();
  const app = createObservatoryApp(deps, {
    stopping: stopping.signal,
  });
  const { server, close } = createNodeServer({
    fetch: app.fetch,
    log: deps.log,
    clock: deps.clock,
    connections: chooseConnectionLimits([]),
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  const folder = await mkdtemp(join(tmpdir(), 'chat-'));
  const socketPath = join(folder, 'socket');
  const onSocket = createServer((socket) => server.emit('connection', socket)).listen(socketPath);
  await once(onSocket, 'listening');
  const send = async (method: string, path: string, username = ADA.username, json?: unknown) =>
    fetch(`${url}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${await signToken(deps, username)}`,
        ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
  return {
    url,
    port,
    socketPath,
    deps,
    stop: () => stopping.abort(),
    post: (path, json, username) => send('POST', path, username, json),
    get: (path, username) => send('GET', path, username),
    async close() {
      stopping.abort();
      await deps.settled();
      const closed = close();
      deps.clock.advance(60_000);
      await closed;
      onSocket.close();
      await rm(folder, { recursive: true });
    },
  };
}

export interface EventReader {
  response: Response;
  /** The events so far. */
  events: ChatEvent[];
  /** The comments so far. */
  comments: string[];
  /** Resolves with the first event of a type. */
  until<Type extends ChatEvent['type']>(type: Type): Promise<Extract<ChatEvent, { type: Type }>>;
  /** Resolves with all events when the answer has ended. */
  ended: Promise<ChatEvent[]>;
  /** Disconnects during the stream. */
  leave(): Promise<void>;
}

/** Asks with POST /chat/stream. Throws for a frame that is neither `data: <json>` nor a comment, and a blank line. */
export async function askStream(
  server: Pick<ChatServer, 'post'>,
  question: object,
  username?: string,
): Promise<EventReader> {
  const response = await server.post('/chat/stream', question, username);
  if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
  const events: ChatEvent[] = [];
  const comments: string[] = [];
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  if (!reader) throw new Error('the answer has no body');
  let isGone = false;
  const read = async () => {
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const frames = (rest + value).split('\n\n');
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        if (/^: .*$/.test(frame)) {
          comments.push(frame);
          continue;
        }
        if (!/^data: .*$/.test(frame)) throw new Error(`not a frame: ${frame}`);
        events.push(JSON.parse(frame.slice('data: '.length)));
      }
    }
    if (rest !== '' && !isGone) throw new Error(`the stream ended within a frame: ${rest}`);
    return events;
  };
  const ended = read();
  ended.catch(() => undefined);
  const find = (type: string) => events.find((event) => event.type === type);
  return {
    response,
    events,
    comments,
    ended,
    async until(type) {
      const found = await waitFor(() => find(type) ?? null, `the event ${type}`);
      return found as never;
    },
    async leave() {
      isGone = true;
      await reader.cancel();
    },
  };
}

/** Polls until there is a result. */
export function waitFor<Value>(
  look: () => Value | null | Promise<Value | null>,
  what: string,
): Promise<Value> {
  return vi.waitFor(
    async () => {
      const found = await look();
      if (found === null) throw new Error(`still without ${what}`);
      return found;
    },
    { timeout: 120_000, interval: 5 },
  );
}

/** Advances the clock, one poll of a waiting stream at a time, until a promise has settled. */
export async function advanceUntilSettled<Value>(
  deps: TestDeps,
  work: Promise<Value>,
): Promise<Value> {
  let isSettled = false;
  const settled = () => {
    isSettled = true;
  };
  work.then(settled, settled);
  await waitFor(() => {
    if (!isSettled) deps.clock.advance(500);
    return isSettled || null;
  }, 'an end');
  return work;
}
