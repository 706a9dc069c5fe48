import type { ServerResponse } from 'node:http';
import * as z from 'zod';
import { AppError } from '../errors.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { connectionsUnavailable, takeOverConnection } from '../http/take-over.ts';
import type { LiveDeps } from './live-deps.ts';
import { SseClient } from './sse-client.ts';

/** The largest id of a log, whose column is a bigint. */
const MAX_ID = 2n ** 63n - 1n;

/** The id of a log: a whole number of at most 64 bits, not negative. */
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

/** Enough for one person's browser tabs. */
const MAX_STREAMS_PER_USER = 20;

/** Headers of the stream. X-Accel-Buffering keeps proxies from buffering rows. */
const headers = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache',
  'X-Accel-Buffering': 'no',
};

/** GET /api/logs/stream. */
export const sseEndpoint: Endpoint<LiveDeps> = endpoint(
  {
    method: 'get',
    tag: 'Live feed',
    access: 'reader',
    path: '/api/logs/stream',
    summary: 'Stream new logs as Server-Sent Events',
    description:
      'Sends `retry: 5000`, then for each row the lines `id`, `event: log` and `data`, a JSON object {type, id, level, message, repository, timestamp}. A comment `: ping` and an event `heartbeat`, which a page can see, are sent every 15 seconds, and the stream ends after 5 minutes. With an id to resume from, the rows above it (at most the newest 1,000) are sent first.',
    query: z.object({
      after_id: logId.optional().meta(describeId('Resume after the row with this id.')),
    }),
    headers: z.object({
      'last-event-id': z
        .string()
        .transform((text) => (text === '' ? undefined : text))
        .pipe(logId.optional())
        .optional()
        .meta(
          describeId(
            'Resume after the row with this id. Overrides after_id; an empty value is ignored.',
          ),
        ),
    }),
    responses: { 200: { description: 'The stream.', contentType: 'text/event-stream' } },
  },
  async ({ query, headers: given }, deps: LiveDeps, c) => {
    if (c.req.method === 'HEAD') return c.body(null, 200, headers);
    const outgoing = c.env?.outgoing;
    if (!outgoing) throw connectionsUnavailable();
    const { feed, clients, streamsOfUsers } = deps;
    const stream = createStream(outgoing, deps);
    countStream(stream, c.get('user'), streamsOfUsers);
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

/** Throws RATE_LIMITED when a user has too many streams open. Programs with the internal secret are trusted. */
function countStream(
  stream: SseClient,
  user: string | undefined,
  streamsOfUsers: Map<string, number>,
): void {
  if (user === undefined) return;
  const open = streamsOfUsers.get(user) ?? 0;
  if (open >= MAX_STREAMS_PER_USER) {
    throw new AppError('RATE_LIMITED', 'this user has too many log streams open', {
      headers: { 'Retry-After': '5' },
    });
  }
  streamsOfUsers.set(user, open + 1);
  stream.gone.addEventListener('abort', () => {
    const left = (streamsOfUsers.get(user) ?? 1) - 1;
    if (left === 0) streamsOfUsers.delete(user);
    else streamsOfUsers.set(user, left);
  });
}

/** Outside the handler, so that the stream's closures do not keep the history in memory for minutes. */
function createStream(outgoing: ServerResponse, { clock, log, streamMs }: LiveDeps): SseClient {
  return new SseClient(outgoing, {
    clock,
    durationMs: streamMs,
    onSlow: () => log.info('a stream of logs was closed because its client reads too slowly'),
  });
}
