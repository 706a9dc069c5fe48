import { z } from 'zod';
import { archiveVariables } from './archives.ts';
import { databaseVariables } from './database.ts';
import { gatewayVariables } from './gateway.ts';
import { httpVariables } from './http.ts';
import { logVariables } from './log.ts';
import { redisVariables } from './redis.ts';
import { port, url } from './values.ts';

/** Other services of the product, as the MCP server reaches them (decisions 2). */
export const backendVariables = z.object({
  BACKEND_URL: url
    .optional()
    .transform((address) => address?.replace(/\/+$/, ''))
    .describe(
      'the service API, for an MCP server without a database and for /observatory/ready; default http://127.0.0.1:8080',
    ),
  OBSERVATORY_URL: z
    .union([z.literal(''), url])
    .optional()
    .describe('the observatory; default `<BACKEND_URL>/observatory`, empty: none'),
});

/** How `npm run mcp` talks to its client (spec 3, Transports). */
export const mcpTransports = ['stdio', 'http', 'sse'] as const;

/** The MCP server (spec 3, Transports). */
export const mcpVariables = z.object({
  MCP_TRANSPORT: z
    .enum(mcpTransports, 'must be stdio, http or sse')
    .default('stdio')
    .describe('stdio, http or sse'),
  MCP_PORT: port.default(8090).describe('port of the http and sse transports'),
  MCP_AUTH_TOKEN: z.string().optional().describe('bearer token of the MCP server over the network'),
});

/** What the MCP server is configured by. */
export const mcpSurfaceVariables = z.object({
  ...databaseVariables.shape,
  ...redisVariables.shape,
  ...logVariables.shape,
  ...httpVariables.shape,
  ...backendVariables.shape,
  ...gatewayVariables.shape,
  ...mcpVariables.shape,
  BACKUP_ARCHIVE_PATH: archiveVariables.shape.BACKUP_ARCHIVE_PATH,
  // Of the system, not of ours: where git is found.
  PATH: z.string().optional(),
});

/** The service API's address (decisions 2, BACKEND_URL). */
export function backendUrl({ BACKEND_URL }: BackendConfig): string {
  return BACKEND_URL ?? 'http://127.0.0.1:8080';
}

/** The observatory's address, null when there is none (decisions 6, OBSERVATORY_URL). */
export function observatoryUrl(config: BackendConfig): string | null {
  if (config.OBSERVATORY_URL === '') return null;
  return config.OBSERVATORY_URL ?? `${backendUrl(config)}/observatory`;
}

/** `backendVariables` as they were read. */
export type BackendConfig = z.output<typeof backendVariables>;
/** `mcpSurfaceVariables` as they were read. */
export type McpConfig = z.output<typeof mcpSurfaceVariables>;
