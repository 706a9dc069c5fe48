import type { Hono } from 'hono';
import { type McpConfig, mcpSurfaceVariables } from '../config/mcp.ts';
import type { Environment } from '../config/read.ts';
import type { HttpEnv } from '../http/env.ts';
import type { WriteLine } from '../log/log.ts';
import { configReader, createHostedSurface } from '../surfaces/hosted-surface.ts';
import { createMcpApp, type McpAppOptions } from './app.ts';

/** The MCP server as a deployed function, by default with sessions of the SSE transport. */
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
