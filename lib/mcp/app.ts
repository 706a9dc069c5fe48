import type { Hono } from 'hono';
import { getPath as getUrlPath } from 'hono/utils/url';
import { loadOnce } from '../async.ts';
import type { McpConfig } from '../config/mcp.ts';
import { readSocketConnection } from '../http/client-address.ts';
import type { Deps } from '../http/deps.ts';
import type { HttpEnv } from '../http/env.ts';
import { limitBody, MAX_BODY_BYTES } from '../http/request-body.ts';
import { mountEndpoints, recordRoutePatterns } from '../http/route.ts';
import { createSurface, type SurfaceOptions } from '../http/surface.ts';
import { MCP_PATH } from '../surfaces/mcp-path.ts';
import type { ToolDeps } from '../tools/tool.ts';
import { limitCalls, requireMcpToken } from './authentication.ts';
import type { LoadCatalogue } from './base/offers.ts';
import { prepareMcpServer } from './base/server.ts';
import {
  healthEndpoint,
  type McpDeps,
  mcpEndpoints,
  sseEndpoints,
  streamableEndpoint,
} from './mcp-endpoints.ts';
import { refuseRebinding } from './rebinding.ts';
import { createRunningRequests } from './transports/running-requests.ts';
import { createSessionRelay } from './transports/session-relay.ts';
import { createSseSessions, noSseSessions } from './transports/sse-sessions.ts';

/** Which paths an app serves: all, as the deployed function, or those of one local server. */
export type Served = 'all' | 'http' | 'sse';

export interface McpAppOptions extends SurfaceOptions {
  /** Default: all, as the deployed function. */
  serve?: Served;
  /** Loads the dependencies of the tools, for each call. Default: according to the configuration. */
  loadDeps?: () => Promise<ToolDeps>;
  /** Loads what is offered. Default: every tool, resource and prompt. */
  loadCatalogue?: LoadCatalogue;
  /** Whether GET /sse opens sessions, for which requests must share a process. Default: true. */
  keepsSessions?: boolean;
  /** Aborts when the process is about to end, which ends open sessions. Default: null, never. */
  stopping?: AbortSignal | null;
}

const served = {
  all: mcpEndpoints,
  http: [streamableEndpoint],
  sse: sseEndpoints,
} as const;

/**
 * The MCP server over HTTP. Errors before a message is read look like those of the service API; errors of the
 * protocol are JSON-RPC errors.
 */
export function createMcpApp(deps: Deps<McpConfig>, options: McpAppOptions = {}): Hono<HttpEnv> {
  const { serve = 'all', readConnection = readSocketConnection } = options;
  const { stopping = null, keepsSessions = true, loadCatalogue = loadWholeCatalogue } = options;
  const { config, log, clock, redactor, redis } = deps;
  const { getPath = getUrlPath } = options;
  const app = createSurface(deps, {
    ...options,
    getPath: (request) => withoutSlash(getPath(request)),
  });
  const mcpDeps = createMcpDeps();
  recordRoutePatterns(app, [...served[serve], ...(serve === 'all' ? [] : [healthEndpoint])]);
  app.use(refuseRebinding(config, readConnection));
  if (serve !== 'all') mountEndpoints(app, [healthEndpoint], mcpDeps);
  app.use(limitCalls(deps), requireMcpToken(deps), limitBody(MAX_BODY_BYTES));
  mountEndpoints(app, served[serve], mcpDeps);
  return app;

  async function loadConfigured(): Promise<ToolDeps> {
    const { createToolDeps } = await import('./tool-deps.ts');
    return createToolDeps(deps);
  }

  function createMcpDeps(): McpDeps {
    // Loaded with the first call, because a handshake needs no archives, gateway or records.
    const loadDeps = options.loadDeps ?? loadOnce(loadConfigured);
    const createServer = prepareMcpServer({ loadCatalogue, loadDeps, log });
    const guard = { redactor, log, clock };
    const token = config.MCP_AUTH_TOKEN;
    // The local server keeps its sessions in memory.
    const relay = serve === 'all' && redis && token ? createSessionRelay(redis, token) : null;
    const sessions = keepsSessions
      ? createSseSessions({ createServer, guard, relay, clock, log, stopping })
      : noSseSessions;
    const running = createRunningRequests();
    return { createServer, guard, sessions, running, startedAt: clock.now() };
  }
}

/** People often paste the address with a trailing slash. */
const withoutSlash = (path: string) => (path === `${MCP_PATH}/` ? MCP_PATH : path);

const loadWholeCatalogue: LoadCatalogue = async () => (await import('./catalogue.ts')).catalogue;
