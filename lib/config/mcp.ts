import * as z from 'zod';
import { archiveVariables } from './archives.ts';
import { databaseVariables } from './database.ts';
import { freshnessVariables } from './freshness.ts';
import { gatewayVariables } from './gateway.ts';
import { httpVariables } from './http.ts';
import { logVariables } from './log.ts';
import { redisVariables } from './redis.ts';
import { searchVariables } from './search.ts';
import { port, secret, secureUrl, wholeNumber } from './values.ts';

/** The other services that the MCP server calls. */
export const backendVariables = z.object({
  BACKEND_URL: secureUrl
    .optional()
    .transform((address) => address?.replace(/\/+$/, ''))
    .describe(
      'URL of the service API, for MCP servers without a database and for /observatory/ready; default: the running server of DATA_DIR',
    ),
  OBSERVATORY_URL: z
    .union([z.literal(''), secureUrl])
    .optional()
    .describe(
      'URL of the observatory; default `/observatory` of BACKEND_URL or of the running server; empty: none',
    ),
});

/** The transports of `npm run mcp`. */
const mcpTransports = ['stdio', 'http', 'sse'] as const;

/** The MCP server. */
export const mcpVariables = z.object({
  MCP_TRANSPORT: z
    .enum(mcpTransports, 'must be stdio, http or sse')
    .default('stdio')
    .describe('stdio, http or sse'),
  MCP_PORT: port.default(8090).describe('port of the http and sse transports'),
  MCP_AUTH_TOKEN: secret
    .optional()
    .describe('bearer token of the MCP server over the network, at least 32 characters'),
  MCP_MAX_CALLS_PER_MINUTE: wholeNumber(1, 1_000_000)
    .default(600)
    .describe('requests per minute over the network with this token'),
});

/** All variables of the MCP server. */
export const mcpSurfaceVariables = z.object({
  ...databaseVariables.shape,
  ...redisVariables.shape,
  ...logVariables.shape,
  ...httpVariables.shape,
  ...backendVariables.shape,
  ...gatewayVariables.shape,
  ...mcpVariables.shape,
  ...freshnessVariables.shape,
  SEARCH_TIME_BUDGET_SECONDS: searchVariables.shape.SEARCH_TIME_BUDGET_SECONDS,
  BACKUP_ARCHIVE_PATH: archiveVariables.shape.BACKUP_ARCHIVE_PATH,
  // Needed to find git.
  PATH: z.string().optional(),
});

export type McpConfig = z.output<typeof mcpSurfaceVariables>;
