import { z } from 'zod';
import { plainError } from '../platform/http/error-shapes.ts';
import type { Route } from '../platform/http/route.ts';
import { memoize } from '../platform/memoize.ts';

const common = { tag: 'MCP', access: 'mcp' } as const;

/** A message of JSON-RPC 2.0. */
const message = memoize(() =>
  z
    .looseObject({
      jsonrpc: z.literal('2.0'),
      id: z.union([z.string(), z.int()]).optional(),
      method: z.string().optional(),
      params: z.looseObject({}).optional(),
    })
    .meta({ id: 'JsonRpcMessage' }),
);

const oneOrSeveral = memoize(() => z.union([message(), z.array(message())]));

/** An error of JSON-RPC 2.0 that belongs to no request. */
const protocolError = memoize(() =>
  z
    .object({
      jsonrpc: z.literal('2.0'),
      error: z.object({ code: z.int(), message: z.string() }),
      id: z.null(),
    })
    .meta({ id: 'JsonRpcError' }),
);

const refusals = memoize(() => ({
  403: { description: 'Over loopback: a Host or Origin of another name.', schema: plainError() },
  413: { description: 'The body is larger than 1 MiB.', schema: plainError() },
}));

/** Streamable HTTP at one path. */
const streamable = (path: string) =>
  ({
    ...common,
    method: 'post',
    path,
    summary: 'Send an MCP message (streamable HTTP, stateless)',
    description:
      'Accept must name application/json and text/event-stream. There is no session id; MCP-Protocol-Version may be any revision from 2024-10-07 to 2025-11-25.',
    responses: () => ({
      200: {
        description: 'The responses, as server-sent events.',
        contentType: 'text/event-stream',
      },
      202: { description: 'Taken: the message asks for no response.' },
      400: {
        description: 'No JSON-RPC, or an unknown protocol revision.',
        schema: protocolError(),
      },
      ...refusals(),
      406: { description: 'Accept lacks one of the two types.', schema: protocolError() },
      415: { description: 'Content-Type is not application/json.', schema: protocolError() },
    }),
  }) as const satisfies Route;

export const mcpRoute = streamable('/mcp');
export const rpcRoute = streamable('/rpc');
export const rootRoute = streamable('/');

export const sseRoute = {
  ...common,
  method: 'get',
  path: '/sse',
  summary: 'Open an MCP session (the HTTP transport of 2024-11-05)',
  description: 'The first event, `endpoint`, names the address for messages.',
  responses: () => ({
    200: { description: "The server's messages, as events.", contentType: 'text/event-stream' },
    403: refusals()[403],
  }),
} as const satisfies Route;

export const messageRoute = {
  ...common,
  method: 'post',
  path: '/message',
  summary: 'Send a message to an MCP session',
  query: memoize(() => z.object({ sessionId: z.string().min(1).max(200) })),
  responses: () => ({
    202: { description: 'Taken; a response comes on the stream.', contentType: 'text/plain' },
    404: { description: 'No such session.', schema: plainError() },
    ...refusals(),
  }),
} as const satisfies Route;

/** GET /health of the http and sse servers of `npm run mcp`; elsewhere it is the service API's. */
export const healthRoute = {
  method: 'get',
  path: '/health',
  summary: 'Tell that the process answers',
  tag: 'Health',
  access: 'public',
  responses: () => ({
    200: {
      description: 'It does.',
      schema: z.object({
        status: z.literal('ok'),
        uptime_seconds: z.int(),
        version: z.string(),
      }),
    },
  }),
} as const satisfies Route;

/** A route with its body, which documents describe and which the protocol, not the route, reads. */
const withBody = (route: Route, schema: () => z.ZodType): Route => ({
  ...route,
  body: { encoding: 'json', schema },
});

/** Every route of this surface, without its handlers: for documents. */
export const mcpRoutes: readonly Route[] = [
  ...[mcpRoute, rpcRoute, rootRoute].map((route) => withBody(route, oneOrSeveral)),
  sseRoute,
  withBody(messageRoute, message),
];
