import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { Hono } from 'hono';
import { z } from 'zod';
import { systemClock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { HttpEnv } from '../../lib/http/env.ts';
import { serveNode } from '../../lib/http/server/serve.ts';
import { createMcpApp, type McpAppOptions } from '../../lib/mcp/app.ts';
import type { Catalogue } from '../../lib/mcp/base/offers.ts';
import { silentLog } from './databases.ts';
import { createTestDeps, type TestDepsOptions } from './deps.ts';
import { createTestToolDeps, testTool } from './tools.ts';

/** The bearer token of tests, and the headers that carry it. */
export const TEST_TOKEN = 'a-token-of-mcp-tests-with-39-characters';
export const withToken = { Authorization: `Bearer ${TEST_TOKEN}` };

/** What a POST of streamable HTTP must send besides the token. */
export const asMessage = {
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
};

export const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

/** A request that calls a tool. */
export const callOf = (name: string, given?: object, id: number | string = 1) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: given },
});

/** Sends a message, or a text instead, with the token. */
export function postMessage(
  app: Hono<HttpEnv>,
  path: string,
  message: unknown,
  headers: Record<string, string> = {},
) {
  return app.request(path, {
    method: 'POST',
    headers: { ...withToken, ...asMessage, ...headers },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  });
}

/** A catalogue without dependencies: tools that echo, fail, crash and wait, and resources and a prompt. */
export function createFixtureCatalogue() {
  const canceled: string[] = [];
  const waiting = Promise.withResolvers<void>();
  const text = z.string().meta({ description: 'Any text.' });
  const catalogue: Catalogue = {
    tools: [
      testTool('echo', ({ text }) => ({ text }), { input: { text }, output: { text: z.string() } }),
      testTool(
        'refuse',
        ({ text }) => {
          throw new AppError('NOT_FOUND', String(text));
        },
        { input: { text } },
      ),
      testTool('break', () => {
        throw new Error('the inside of the server');
      }),
      testTool('wait', (_input, _deps, { signal }) => {
        waiting.resolve();
        return new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            canceled.push('wait');
            reject(signal.reason);
          });
        });
      }),
    ],
    resources: [
      {
        uri: 'fixture://text',
        name: 'fixture',
        title: 'Fixture',
        description: 'A resource of tests.',
        read: async () => ({ text: 'a text', at: 1 }),
      },
      {
        uri: 'fixture://broken',
        name: 'broken',
        title: 'Broken',
        description: 'A resource that cannot be read.',
        read: () => Promise.reject(new Error('the inside of the server')),
      },
    ],
    prompts: [
      {
        name: 'fixture',
        title: 'Fixture',
        description: 'A prompt of tests.',
        write: async () => [{ role: 'user', content: { type: 'text', text: 'do something' } }],
      },
    ],
  };
  return {
    catalogue,
    /** Names of tools whose call was canceled. */
    canceled,
    /** Resolves when the tool `wait` runs. */
    waiting: waiting.promise,
  };
}

/** An app in which calls of the tool `wait` can be observed. */
export function createWaitingApp() {
  const { catalogue, ...observed } = createFixtureCatalogue();
  return { ...createTestMcpApp({}, { loadCatalogue: async () => catalogue }), ...observed };
}

/** An app with a token, by default over the fixture catalogue. */
export function createTestMcpApp(
  options: TestDepsOptions = {},
  appOptions: Partial<McpAppOptions> = {},
) {
  const deps = createTestDeps({
    ...options,
    environment: { MCP_AUTH_TOKEN: TEST_TOKEN, ...options.environment },
  });
  const { catalogue } = createFixtureCatalogue();
  const app = createMcpApp(deps, {
    loadCatalogue: async () => catalogue,
    loadDeps: async () => createTestToolDeps({}),
    ...appOptions,
  });
  return { app, deps };
}

/** Serves an app on a local port. */
export async function listenMcp(app: ReturnType<typeof createMcpApp>) {
  const server = await serveNode({
    fetch: app.fetch,
    host: '127.0.0.1',
    port: 0,
    log: silentLog,
    clock: systemClock,
  });
  return { url: server.url, close: () => server.close(0) };
}

/** Connects a client of the official SDK; `close` ends the connection. */
export async function connectClient(transport: Transport): Promise<Client> {
  const client = new Client({ name: 'tests', version: '1.0.0' });
  await client.connect(transport);
  return client;
}

/** Connects over streamable HTTP. */
export function connectHttp(url: string, token = TEST_TOKEN): Promise<Client> {
  const headers = { Authorization: `Bearer ${token}` };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } });
  return connectClient(transport as Transport);
}

/** Connects over the older SSE transport. `fetch` lets a test send messages elsewhere. */
export function connectSse(url: string, send: typeof fetch = fetch, token = TEST_TOKEN) {
  const Authorization = `Bearer ${token}`;
  const transport = new SSEClientTransport(new URL(url), {
    requestInit: { headers: { Authorization } },
    eventSourceInit: {
      fetch: (address, init) =>
        fetch(address, { ...init, headers: { ...init.headers, Authorization } }),
    },
    fetch: (address, init) => send(address, init),
  });
  return connectClient(transport);
}

/** The messages of a streamable HTTP answer, whichever form it has. */
export async function messagesOf(response: Response): Promise<Record<string, unknown>[]> {
  const text = await response.text();
  if (response.headers.get('content-type') === 'application/json') return [JSON.parse(text)];
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)));
}
