import { ErrorCode, JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Context } from 'hono';
import * as z from 'zod';
import { AppError } from '../errors.ts';
import { basePathOf, type HttpEnv } from '../http/env.ts';
import { plainError } from '../http/error-shapes.ts';
import { readText } from '../http/request-body.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { parseJson, scanJson } from '../json.ts';
import { MCP_PATH } from '../surfaces/mcp-path.ts';
import { version } from '../version.ts';
import type { CreateMcpServer } from './base/server.ts';
import type { GuardOptions } from './transports/guarded-transport.ts';
import type { RunningRequests } from './transports/running-requests.ts';
import type { SseSessions } from './transports/sse-sessions.ts';
import { answerStreamableHttp } from './transports/streamable-http.ts';

/** The dependencies of the endpoints of the MCP server. */
export interface McpDeps {
  createServer: CreateMcpServer;
  guard: GuardOptions;
  sessions: SseSessions;
  running: RunningRequests;
  /** When the app was created, milliseconds since the epoch. */
  startedAt: number;
}

const common = { tag: 'MCP', access: 'mcp' } as const;

/** A message of JSON-RPC 2.0. */
const message = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: z.union([z.string(), z.int()]).optional(),
    method: z.string().optional(),
    params: z.looseObject({}).optional(),
  })
  .meta({ id: 'JsonRpcMessage' });

/** A JSON-RPC 2.0 error without a request. */
const protocolError = z
  .object({
    jsonrpc: z.literal('2.0'),
    error: z.object({ code: z.int(), message: z.string() }),
    id: z.null(),
  })
  .meta({ id: 'JsonRpcError' });

const refusals = {
  403: {
    description: 'A page of another origin, or over loopback another Host than localhost.',
    schema: plainError,
  },
  413: { description: 'The body is larger than 1 MiB.', schema: plainError },
};

const MESSAGE_PATH = '/message';

/** Streamable HTTP. The deployed function also serves it under the aliases. */
export const streamableEndpoint = streamable(MCP_PATH);
const streamableAliases = [streamable('/rpc'), streamable('/')];

/** GET /sse and POST /message. */
export const sseEndpoints: readonly Endpoint<McpDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/sse',
      // Its messages may call tools that change something.
      isReading: false,
      summary: 'Open an MCP session (the HTTP transport of 2024-11-05)',
      description: 'The first event, `endpoint`, contains the address for messages.',
      responses: {
        200: { description: "The server's messages, as events.", contentType: 'text/event-stream' },
        403: refusals[403],
      },
    },
    async (_input, { sessions }: McpDeps, c) => {
      // A HEAD request gets here too, but nobody would read its stream.
      const endpoint = `${basePathOf(c)}${MESSAGE_PATH}`;
      const stream =
        c.req.method === 'GET' ? await sessions.open(endpoint, c.get('clientAddress')) : null;
      return new Response(stream, {
        headers: {
          'Content-Type': 'text/event-stream',
          'Cache-Control': 'no-cache, no-transform',
          'X-Accel-Buffering': 'no',
        },
      });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: MESSAGE_PATH,
      summary: 'Send a message to an MCP session',
      query: z.object({ sessionId: z.string().min(1).max(200) }),
      body: { encoding: 'json', schema: message, readByHandler: true },
      responses: {
        202: {
          description: 'Accepted. The response is sent on the stream.',
          contentType: 'text/plain',
        },
        404: { description: 'No such session.', schema: plainError },
        ...refusals,
      },
    },
    async ({ query }, { sessions }: McpDeps, c) => {
      const delivery = await sessions.deliver(query.sessionId, await readMessage(c));
      if (delivery === 'unknown') throw new AppError('NOT_FOUND', 'there is no such session');
      if (delivery === 'full') {
        throw new AppError('SERVICE_UNAVAILABLE', 'too many messages are waiting for the session');
      }
      return c.text('Accepted', 202);
    },
  ),
];

/** Every endpoint of the deployed function. */
export const mcpEndpoints = [streamableEndpoint, ...streamableAliases, ...sseEndpoints];

/** GET /health of the http and sse servers of `npm run mcp`; elsewhere the service API serves it. */
export const healthEndpoint = endpoint(
  {
    method: 'get',
    path: '/health',
    summary: 'Check that the process answers',
    tag: 'Health',
    access: 'public',
    responses: {
      200: {
        description: 'It answers.',
        schema: z.object({
          status: z.literal('ok'),
          uptime_seconds: z.int(),
          version: z.string(),
        }),
      },
    },
  },
  (_input, { startedAt, guard }: McpDeps, c) => {
    const uptime_seconds = Math.floor((guard.clock.now() - startedAt) / 1000);
    return c.json({ status: 'ok', uptime_seconds, version });
  },
);

function streamable(path: string): Endpoint<McpDeps> {
  return endpoint(
    {
      ...common,
      method: 'post',
      path,
      summary: 'Send an MCP message (streamable HTTP, stateless)',
      description:
        'Accept must allow application/json and text/event-stream, by name or wildcard; without the header both are allowed. There is no session id. MCP-Protocol-Version may be any revision from 2024-10-07 to 2025-11-25.',
      body: { encoding: 'json', schema: z.union([message, z.array(message)]), readByHandler: true },
      responses: {
        200: {
          description: 'The responses, as Server-Sent Events.',
          contentType: 'text/event-stream',
        },
        202: { description: 'Accepted: the message needs no response.' },
        400: {
          description:
            'Not JSON-RPC, too deeply nested, too many values, or an unknown protocol revision.',
          schema: protocolError,
        },
        ...refusals,
        406: { description: 'Accept excludes one of the two types.', schema: protocolError },
        415: { description: 'Content-Type is not application/json.', schema: protocolError },
      },
    },
    async (_input, { createServer, guard, running }: McpDeps, c) => {
      const { raw } = c.req;
      const text = await readText(c);
      const { excess } = scanJson(text);
      if (excess !== null) {
        const error = { code: ErrorCode.InvalidRequest, message: `the body ${excess}` };
        return c.json({ jsonrpc: '2.0', error, id: null }, 400);
      }
      // Clients with the same address and user agent cannot be told apart.
      const peer = `${c.get('clientAddress')} ${raw.headers.get('user-agent') ?? ''}`;
      return answerStreamableHttp(raw, text, {
        createServer: () => createServer(c.get('clientAddress')),
        guard: { ...guard, fields: { request_id: c.get('requestId') } },
        running,
        peer,
      });
    },
  );
}

async function readMessage(c: Context<HttpEnv>) {
  const text = await readText(c);
  const { excess } = scanJson(text);
  if (excess !== null) throw new AppError('BAD_REQUEST', `the body ${excess}`);
  const parsed = JSONRPCMessageSchema.safeParse(parseJson(text));
  if (!parsed.success) throw new AppError('BAD_REQUEST', 'the body must be a JSON-RPC 2.0 message');
  return parsed.data;
}
