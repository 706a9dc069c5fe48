import { AppError } from '../platform/errors.ts';
import { type Endpoint, endpoint } from '../platform/http/route.ts';
import { noConnections, takeOverConnection } from '../platform/http/take-over.ts';
import { UpgradeResponse } from '../platform/http/upgrade.ts';
import type { LiveHandles } from './handles.ts';
import { checkHandshake, upgradeRequired } from './handshake-check.ts';
import { socketRoute } from './routes.ts';
import { SocketClient } from './socket-client.ts';

/** GET /ws/live. */
export const socketEndpoint: Endpoint<LiveHandles> = endpoint(
  socketRoute,
  async (_input, handles: LiveHandles, c) => {
    const { feed, clients, loadHandshakes, config } = handles;
    const origin = c.req.header('origin');
    if (origin !== undefined && !allowsOrigin(config.WS_ALLOWED_ORIGINS, origin)) {
      throw new AppError('FORBIDDEN', 'pages of this origin may not open a WebSocket here');
    }
    const outgoing = c.env?.outgoing;
    if (!outgoing && c.req.header('upgrade')?.toLowerCase() === 'websocket') throw noConnections();
    if (!(outgoing instanceof UpgradeResponse)) throw upgradeRequired();
    checkHandshake((name) => c.req.header(name));
    const client = createClient(handles);
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

/** Apart from the handler: what the client keeps for hours must not keep the request with it. */
function createClient({ clock, log, socketMs }: LiveHandles): SocketClient {
  return new SocketClient({
    clock,
    durationMs: socketMs,
    onSlow: () => log.info('a WebSocket was closed: its client reads too slowly'),
  });
}

/** Is an Origin header in the list? Schemes and hosts are the same in any letter case. */
export function allowsOrigin(allowed: readonly string[], origin: string): boolean {
  return allowed.includes('*') || allowed.includes(origin.toLowerCase());
}

/** Only for the metrics: a Response of the standard cannot have this status. */
function switchingProtocols(): Response {
  return Object.defineProperty(new Response(null), 'status', { value: 101 });
}
