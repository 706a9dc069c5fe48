import type { Hono } from 'hono';
import type { McpConfig } from '../platform/config/mcp.ts';
import type { Deps } from '../platform/deps.ts';
import { limitBody, MAX_BODY_BYTES } from '../platform/http/body-limit.ts';
import { readSocketConnection } from '../platform/http/client-address.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { mountEndpoints, nameRoutes } from '../platform/http/route.ts';
import { createSurface, type SurfaceOptions } from '../platform/http/surface.ts';
import type { ToolHandles } from '../tools/index.ts';
import { requireMcpToken } from './authentication.ts';
import {
  healthEndpoint,
  type McpHandles,
  sseEndpoints,
  streamableAliases,
  streamableEndpoint,
} from './endpoints.ts';
import type { LoadCatalogue } from './offers.ts';
import { refuseRebinding } from './rebinding.ts';
import { prepareMcpServer } from './server.ts';
import { createSessionRelay } from './session-relay.ts';
import { createSseSessions, noSseSessions } from './sse-sessions.ts';

/** The paths that an app serves: all of the function's, or those of one local server (spec 3, Transports). */
export type Served = 'all' | 'http' | 'sse';

export interface McpAppOptions extends SurfaceOptions {
  /** Default: all, as the deployed function. */
  serve?: Served;
  /** What the tools reach the world through. Default: what the configuration says. */
  handles?: ToolHandles;
  /** What is offered. Default: the tools, resources and prompts of specification 3. */
  loadCatalogue?: LoadCatalogue;
  /** Whether GET /sse opens sessions, which takes a process whose requests reach each other. Default: true. */
  keepsSessions?: boolean;
  /** Aborts when the process is about to end: open sessions end then. Default: null, never. */
  stopping?: AbortSignal | null;
}

const served = {
  all: [streamableEndpoint, ...streamableAliases, ...sseEndpoints],
  http: [streamableEndpoint],
  sse: sseEndpoints,
} as const;

/**
 * The MCP server of specification 3 over HTTP. What is refused before a message is read has the bodies of
 * the service API; what the protocol refuses is a JSON-RPC error.
 */
export function createMcpApp(deps: Deps<McpConfig>, options: McpAppOptions = {}): Hono<HttpEnv> {
  const { serve = 'all', readConnection = readSocketConnection } = options;
  const { stopping = null, keepsSessions = true, loadCatalogue = loadWholeCatalogue } = options;
  const { config, log, clock, redactor, redis } = deps;
  const app = createSurface(deps, options);
  const handles = createHandles();
  nameRoutes(app, [...served[serve], ...(serve === 'all' ? [] : [healthEndpoint])]);
  app.use(refuseRebinding(config, readConnection));
  if (serve !== 'all') mountEndpoints(app, [healthEndpoint], handles);
  app.use(requireMcpToken({ token: config.MCP_AUTH_TOKEN, log }), limitBody(MAX_BODY_BYTES));
  mountEndpoints(app, served[serve], handles);
  return app;

  /** The archives, the gateway and the records are much code, of which a handshake needs none. */
  async function loadHandles(): Promise<ToolHandles> {
    if (options.handles) return options.handles;
    const { createToolHandles } = await import('./tool-handles.ts');
    return createToolHandles(deps);
  }

  function createHandles(): McpHandles {
    const createServer = prepareMcpServer({ loadCatalogue, loadHandles, log });
    const guard = { redactor, log, clock };
    const token = config.MCP_AUTH_TOKEN;
    // Sessions of the local server are in process memory (spec 3, Transports).
    const relay = serve === 'all' && redis && token ? createSessionRelay(redis, token) : null;
    const sessions = keepsSessions
      ? createSseSessions({ createServer, guard, relay, clock, log, stopping })
      : noSseSessions;
    return { createServer, guard, sessions, startedAt: clock.now() };
  }
}

const loadWholeCatalogue: LoadCatalogue = async () => (await import('./catalogue.ts')).catalogue;
