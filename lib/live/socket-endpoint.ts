import { AppError } from '../errors.ts';
import { plainError } from '../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { UpgradeResponse } from '../http/server/upgrade.ts';
import { connectionsUnavailable, takeOverConnection } from '../http/take-over.ts';
import { checkHandshake, upgradeRequired } from './handshake-check.ts';
import type { LiveDeps } from './live-deps.ts';
import { SocketClient } from './socket-client.ts';

/** GET /ws/live. */
export const socketEndpoint: Endpoint<LiveDeps> = endpoint(
  {
    method: 'get',
    tag: 'Live feed',
    access: 'internal',
    path: '/ws/live',
    summary: 'Receive new logs over a WebSocket',
    description:
      'Sends one text message for each new row: a JSON object {type, id, level, message, repository, timestamp}. Messages from the client are ignored.',
    responses: {
      101: { description: 'The connection becomes a WebSocket.' },
      403: { description: 'The Origin is not in WS_ALLOWED_ORIGINS.', schema: plainError },
      426: { description: 'The request is not a WebSocket handshake.', schema: plainError },
    },
  },
  async (_input, deps: LiveDeps, c) => {
    const { feed, clients, loadHandshakes, config } = deps;
    const origin = c.req.header('origin');
    if (origin !== undefined && !allowsOrigin(config.WS_ALLOWED_ORIGINS, origin)) {
      throw new AppError('FORBIDDEN', 'pages of this origin may not open a WebSocket here');
    }
    const outgoing = c.env?.outgoing;
    if (!outgoing && c.req.header('upgrade')?.toLowerCase() === 'websocket')
      throw connectionsUnavailable();
    if (!(outgoing instanceof UpgradeResponse)) throw upgradeRequired();
    checkHandshake((name) => c.req.header(name));
    const client = createClient(deps);
    outgoing.once('close', () => client.abandon());
    const handshakes = await loadHandshakes();
    const history = await feed.subscribe(client.push, {
      after: null,
      signal: client.left,
    });
    takeOverConnection(c, (headers) => {
      const connection = outgoing.takeConnection();
      const ws = handshakes.complete(connection, headers);
      if (!ws) return client.abandon();
      client.open(ws, connection.socket, history);
      clients.add(client);
    });
    return switchingProtocols();
  },
);

/** Outside the handler, so that the client's closures do not keep the request in memory for hours. */
function createClient({ clock, log, socketMs }: LiveDeps): SocketClient {
  return new SocketClient({
    clock,
    durationMs: socketMs,
    onSlow: () => log.info('a WebSocket was closed because its client reads too slowly'),
  });
}

/** Is an Origin header in the list? Ignores letter case. */
function allowsOrigin(allowed: readonly string[], origin: string): boolean {
  return allowed.includes('*') || allowed.includes(origin.toLowerCase());
}

/** For the metrics. The constructor of Response rejects this status. */
function switchingProtocols(): Response {
  return Object.defineProperty(new Response(null), 'status', { value: 101 });
}
