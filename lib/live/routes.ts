import 'zod-openapi';
import { z } from 'zod';
import { plainError } from '../platform/http/error-shapes.ts';
import type { Route } from '../platform/http/route.ts';
import { memoize } from '../platform/memoize.ts';

/** The largest id that a log can have: its column is a bigint. */
const MAX_ID = 2n ** 63n - 1n;

/** A log's id: a whole number of at most 64 bits, not below 0. */
const logId = memoize(() =>
  z
    .string('must be given once')
    .regex(/^0*\d{1,19}$/, 'must be the id of a log, a whole number not below 0')
    .transform(BigInt)
    .refine((id) => id <= MAX_ID, 'must be the id of a log, a whole number of at most 64 bits'),
);

function describeId(description: string) {
  return {
    description,
    override: ({ jsonSchema }: { jsonSchema: object }) => {
      Object.assign(jsonSchema, { type: 'integer', minimum: 0, pattern: undefined });
    },
  };
}

const common = { method: 'get', tag: 'Live feed', access: 'internal' } as const;

/** GET /api/logs/stream (spec 1, SSE). */
export const streamRoute = {
  ...common,
  path: '/api/logs/stream',
  summary: 'Stream new logs as Server-Sent Events',
  description:
    'First `retry: 5000`, then for each row the lines `id`, `event: log` and `data`, a JSON object {type, id, level, message, repository, timestamp}. A comment `: ping` comes every 15 seconds; the stream ends after 5 minutes. With an id to resume from, the rows above it (the newest 1,000 at most) are sent first.',
  query: memoize(() =>
    z.object({
      after_id: logId().optional().meta(describeId('Resume after the row of this id.')),
    }),
  ),
  headers: memoize(() =>
    z.object({
      'last-event-id': z
        .string()
        .transform((text) => (text === '' ? undefined : text))
        .pipe(logId().optional())
        .optional()
        .meta(
          describeId(
            'Resume after the row of this id. Wins over after_id; empty counts as absent.',
          ),
        ),
    }),
  ),
  responses: () => ({ 200: { description: 'The stream.', contentType: 'text/event-stream' } }),
} satisfies Route;

/** GET /ws/live (spec 1, WebSocket). */
export const socketRoute = {
  ...common,
  path: '/ws/live',
  summary: 'Receive new logs over a WebSocket',
  description:
    'One text message for each new row: a JSON object {type, id, level, message, repository, timestamp}. Messages from the client are ignored.',
  rateLimited: true,
  responses: () => ({
    101: { description: 'The connection is a WebSocket now.' },
    403: { description: 'The Origin is not one of WS_ALLOWED_ORIGINS.', schema: plainError() },
    426: { description: 'The request is no handshake of a WebSocket.', schema: plainError() },
  }),
} satisfies Route;

/** Every route of this surface, without its handlers: for documents. */
export const liveRoutes: readonly Route[] = [streamRoute, socketRoute];
