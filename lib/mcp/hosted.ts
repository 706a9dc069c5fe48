import type { Hono } from 'hono';
import { mcpSurfaceVariables } from '../platform/config/mcp.ts';
import type { Environment } from '../platform/config/read.ts';
import type { HttpEnv } from '../platform/http/env.ts';
import { configReader, createHostedSurface } from '../platform/http/hosted-surface.ts';
import type { WriteLine } from '../platform/log.ts';
import { createMcpApp } from './app.ts';

/** The MCP server as a deployed function (decisions 2). */
export function createHostedMcpApp(
  environment: Environment,
  write?: WriteLine,
): Promise<Hono<HttpEnv>> {
  return createHostedSurface(
    {
      name: 'the MCP server',
      readConfig: configReader(mcpSurfaceVariables),
      createApp: createMcpApp,
    },
    environment,
    write,
  );
}
