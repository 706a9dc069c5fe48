import type { Hono } from 'hono';
import { type McpConfig, mcpSurfaceVariables } from '../platform/config/mcp.ts';
import type { Environment } from '../platform/config/read.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { configReader, createHostedSurface } from '../platform/http/hosted-surface.ts';
import type { WriteLine } from '../platform/log.ts';
import { createMcpApp, type McpAppOptions } from './app.ts';

/** The MCP server as a deployed function (decisions 2), by default with sessions of the SSE transport. */
export function createHostedMcpApp(
  environment: Environment,
  write?: WriteLine,
  { keepsSessions = true }: Pick<McpAppOptions, 'keepsSessions'> = {},
): Promise<Hono<HttpEnv>> {
  return createHostedSurface<McpConfig>(
    {
      name: 'the MCP server',
      readConfig: configReader(mcpSurfaceVariables),
      createApp: (deps, options) => createMcpApp(deps, { ...options, keepsSessions }),
    },
    environment,
    write,
  );
}
