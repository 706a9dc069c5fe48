import type { Hono } from 'hono';
import type { McpConfig } from '../platform/config/mcp.ts';
import type { Deps } from '../platform/deps.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { createSurface, type SurfaceOptions } from '../platform/http/surface.ts';

/** The MCP server of specification 3 over HTTP. */
export function createMcpApp(deps: Deps<McpConfig>, options: SurfaceOptions = {}): Hono<HttpEnv> {
  return createSurface(deps, options);
}
