import type { ServerResponse } from 'node:http';
import * as z from 'zod';
import { type Endpoint, endpoint } from '../http/route.ts';
import { connectionsUnavailable, takeOverConnection } from '../http/take-over.ts';
import type { LiveDeps } from './live-deps.ts';
import { LogStream } from './log-stream.ts';

/** The largest id that a log can have: its column is a bigint. */
const MAX_ID = 2n ** 63n - 1n;

/** A log's id: a whole number of at most 64 bits, not below 0. */
const logId = z
  .string('must be given once')
  .regex(/^0*\d{1,19}$/, 'must be the id of a log, a whole number not below 0')
  .transform(BigInt)
  .refine((id) => id <= MAX_ID, 'must be the id of a log, a whole number of at most 64 bits');

function describeId(description: string) {
  return {
    description,
    override: ({ jsonSchema }: { jsonSchema: object }) => {
      Object.assign(jsonSchema, { type: 'integer', minimum: 0, pattern: undefined });
    },
  };
}

/** Headers of the stream. X-Accel-Buffering keeps proxies from holding rows back. */
const headers = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache',
  'X-Accel-Buffering': 'no',
};

/** GET /api/logs/stream. */
export const streamEndpoint: Endpoint<LiveDeps> = endpoint(
  {
    method: 'get',
    tag: 'Live feed',
    access: 'internal',
    path: '/api/logs/stream',
    summary: 'Stream new logs as Server-Sent Events',
    description:
      'First `retry: 5000`, then for each row the lines `id`, `event: log` and `data`, a JSON object {type, id, level, message, repository, timestamp}. A comment `: ping` comes every 15 seconds; the stream ends after 5 minutes. With an id to resume from, the rows above it (the newest 1,000 at most) are sent first.',
    query: z.object({
      after_id: logId.optional().meta(describeId('Resume after the row of this id.')),
    }),
    headers: z.object({
      'last-event-id': z
        .string()
        .transform((text) => (text === '' ? undefined : text))
        .pipe(logId.optional())
        .optional()
        .meta(
          describeId(
            'Resume after the row of this id. Wins over after_id; empty counts as absent.',
          ),
        ),
    }),
    responses: { 200: { description: 'The stream.', contentType: 'text/event-stream' } },
  },
  async ({ query, headers: given }, deps: LiveDeps, c) => {
    if (c.req.method === 'HEAD') return c.body(null, 200, headers);
    const outgoing = c.env?.outgoing;
    if (!outgoing) throw connectionsUnavailable();
    const { feed, clients } = deps;
    const stream = createStream(outgoing, deps);
    const history = await feed.subscribe(stream.push, {
      after: given['last-event-id'] ?? query.after_id ?? null,
      signal: stream.left,
    });
    takeOverConnection(c, (answered) => {
      stream.open(answered, history);
      clients.add(stream);
    });
    return c.body(null, 200, headers);
  },
);

/** Apart from the handler: what the stream keeps for minutes must not keep the history with it. */
function createStream(outgoing: ServerResponse, { clock, log, streamMs }: LiveDeps): LogStream {
  return new LogStream(outgoing, {
    clock,
    durationMs: streamMs,
    onSlow: () => log.info('a stream of logs was dropped: its client reads too slowly'),
  });
}
