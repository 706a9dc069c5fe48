import type { ServerResponse } from 'node:http';
import { type Endpoint, endpoint } from '../platform/http/route.ts';
import { noConnections, takeOverConnection } from '../platform/http/take-over.ts';
import { EventStream } from './event-stream.ts';
import type { LiveHandles } from './handles.ts';
import { streamRoute } from './routes.ts';

/** Headers of the stream (spec 1, SSE). X-Accel-Buffering keeps proxies from holding rows back. */
const headers = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache',
  'X-Accel-Buffering': 'no',
};

/** GET /api/logs/stream. */
export const streamEndpoint: Endpoint<LiveHandles> = endpoint(
  streamRoute,
  async ({ query, headers: given }, handles: LiveHandles, c) => {
    if (c.req.method === 'HEAD') return c.body(null, 200, headers);
    const outgoing = c.env?.outgoing;
    if (!outgoing) throw noConnections();
    const { feed, clients } = handles;
    const stream = createStream(outgoing, handles);
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
function createStream(
  outgoing: ServerResponse,
  { clock, log, streamMs }: LiveHandles,
): EventStream {
  return new EventStream(outgoing, {
    clock,
    durationMs: streamMs,
    onSlow: () => log.info('a stream of logs was dropped: its client reads too slowly'),
  });
}
