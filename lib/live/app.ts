import type { Hono } from 'hono';
import { loadOnce } from '../async.ts';
import type { LiveConfig } from '../config/live.ts';
import { requireInternalSecret } from '../http/authentication.ts';
import type { Deps } from '../http/deps.ts';
import type { HttpEnv } from '../http/env.ts';
import { mountEndpoints, recordRoutePatterns } from '../http/route.ts';
import { createSurface, protect, type SurfaceOptions } from '../http/surface.ts';
import { handOverConnection } from '../http/take-over.ts';
import { createReaderCheck } from '../users/reader-check.ts';
import { createLogFeed } from './feed.ts';
import { LiveClients } from './live-client.ts';
import { socketEndpoint } from './socket-endpoint.ts';
import { sseEndpoint } from './sse-endpoint.ts';

export interface LiveAppOptions extends SurfaceOptions {
  /** When the platform cuts connections. They are closed a few seconds earlier. Default: never. */
  platformLimitMs?: number;
}

export interface LiveApp {
  /** Must be served by `createNodeServer`, which passes it the connections. */
  app: Hono<HttpEnv>;
  /**
   * Refuses new clients with 503 and disconnects the others: streams at once, WebSockets with 1001. Resolves when
   * all connections are closed; clients that do not answer are cut off after 10 seconds.
   */
  close(): Promise<void>;
}

/** How long before the platform's limit a connection is closed, so that it ends properly. */
const BEFORE_LIMIT_MS = 5_000;

export const liveEndpoints = [sseEndpoint, socketEndpoint];

/** The live feed: one poller for all clients of the process. */
export function createLiveApp(
  deps: Deps<LiveConfig>,
  { platformLimitMs = Number.POSITIVE_INFINITY, ...options }: LiveAppOptions = {},
): LiveApp {
  const app = createSurface(deps, { ...options, outermost: [handOverConnection] });
  const requireSecret = requireInternalSecret(deps);
  const { recognizeReader, requireReader } = createReaderCheck(deps, requireSecret);
  const maxPerUser = deps.config.USER_MAX_REQUESTS_PER_MINUTE;
  const feed = createLogFeed(deps);
  const clients = new LiveClients();
  const socketMs = platformLimitMs - BEFORE_LIMIT_MS;
  recordRoutePatterns(app, liveEndpoints);
  app.use(
    '/api/*',
    recognizeReader,
    ...protect(deps, { requireAccess: requireReader, maxPerUser }),
  );
  app.use('/ws/live', ...protect(deps, { requireAccess: requireSecret }));
  mountEndpoints(app, liveEndpoints, {
    ...deps,
    feed,
    clients,
    streamsOfUsers: new Map(),
    loadHandshakes: loadOnce(async () => new (await import('./handshakes.ts')).Handshakes()),
    streamMs: Math.min(deps.config.SSE_MAX_DURATION_SECONDS * 1_000, socketMs),
    socketMs,
  });
  return {
    app,
    close() {
      feed.close();
      return clients.shutDown();
    },
  };
}
