import { JSONRPCMessageSchema } from '@modelcontextprotocol/sdk/types.js';
import type { Context } from 'hono';
import { AppError } from '../platform/errors.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { readText } from '../platform/http/request-body.ts';
import { type Endpoint, endpoint, type Route } from '../platform/http/route.ts';
import { parseJson } from '../platform/json.ts';
import { version } from '../platform/version.ts';
import type { GuardOptions } from './guarded-transport.ts';
import { healthRoute, mcpRoute, messageRoute, rootRoute, rpcRoute, sseRoute } from './routes.ts';
import type { CreateMcpServer } from './server.ts';
import type { SseSessions } from './sse-sessions.ts';
import { answerStreamableHttp } from './streamable-http.ts';

/** What the endpoints of the MCP server are mounted with. */
export interface McpHandles {
  createServer: CreateMcpServer;
  guard: GuardOptions;
  sessions: SseSessions;
  /** When the app was created, milliseconds since the epoch. */
  startedAt: number;
}

/** Streamable HTTP: of the local http server, and with its second names of the function. */
export const streamableEndpoint = streamable(mcpRoute);
export const streamableAliases = [streamable(rpcRoute), streamable(rootRoute)];

/** GET /sse and POST /message. */
export const sseEndpoints: readonly Endpoint<McpHandles>[] = [
  endpoint(sseRoute, async (_input, { sessions }: McpHandles, c) => {
    // A HEAD request comes here too, and nobody would ever read its stream.
    const stream = c.req.method === 'GET' ? await sessions.open(messageRoute.path) : null;
    return new Response(stream, {
      headers: {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-cache, no-transform',
        'X-Accel-Buffering': 'no',
      },
    });
  }),
  endpoint(messageRoute, async ({ query }, { sessions }: McpHandles, c) => {
    const delivery = await sessions.deliver(query.sessionId, await readMessage(c));
    if (delivery === 'unknown') throw new AppError('NOT_FOUND', 'there is no such session');
    if (delivery === 'full') {
      throw new AppError('SERVICE_UNAVAILABLE', 'too many messages wait for the session');
    }
    return c.text('Accepted', 202);
  }),
];

/** GET /health of a server that is nothing but this. */
export const healthEndpoint = endpoint(
  healthRoute,
  (_input, { startedAt, guard }: McpHandles, c) => {
    const uptime_seconds = Math.floor((guard.clock.now() - startedAt) / 1000);
    return c.json({ status: 'ok', uptime_seconds, version });
  },
);

function streamable(route: Route): Endpoint<McpHandles> {
  return endpoint(route, (_input, { createServer, guard }: McpHandles, c) =>
    answerStreamableHttp(c.req.raw, createServer, {
      ...guard,
      fields: { request_id: c.get('requestId') },
    }),
  );
}

async function readMessage(c: Context<HttpEnv>) {
  const parsed = JSONRPCMessageSchema.safeParse(parseJson(await readText(c)));
  if (!parsed.success) throw new AppError('BAD_REQUEST', 'the body must be a JSON-RPC 2.0 message');
  return parsed.data;
}
