import { parseArgs } from 'node:util';
import { mcpVariables } from '../platform/config/mcp.ts';
import { ConfigError } from '../platform/config/read.ts';
import { AppError } from '../platform/errors.ts';

export const usage = `usage: npm run -s mcp -- [--transport stdio|http|sse] [--port PORT]

Serves backup data and actions to AI agents over the Model Context Protocol.

  --transport  stdio (default): JSON-RPC on stdin and stdout, as desktop and editor clients start it
               http: streamable HTTP at POST /mcp; sse: the older GET /sse with POST /message
               both need MCP_AUTH_TOKEN, and also answer GET /health
  --port       port of http and sse, default 8090
  --help       print this

Variables: MCP_TRANSPORT, MCP_PORT, MCP_AUTH_TOKEN, HOST, DATABASE_URL, BACKEND_URL, INTERNAL_SECRET, LOG_LEVEL.
`;

/** What the command line says, as the variables that it stands for; `help` when it asks for help. */
export type McpArguments = { help: true } | { help: false; variables: Record<string, string> };

/**
 * Reads the command line. Throws BAD_REQUEST for an option that does not exist or lacks its value, and
 * ConfigError for a value that is no transport or no port.
 */
export function parseMcpArguments(args: readonly string[]): McpArguments {
  const { help, transport, port } = parse(args);
  if (help) return { help: true };
  return {
    help: false,
    variables: {
      ...check('MCP_TRANSPORT', '--transport', transport),
      ...check('MCP_PORT', '--port', port),
    },
  };
}

/** An option as the variable that it stands for, by whose rules it is read. */
function check(
  name: keyof typeof mcpVariables.shape,
  option: string,
  value: string | undefined,
): Record<string, string> {
  if (value === undefined) return {};
  const fault = mcpVariables.shape[name].safeParse(value).error?.issues[0]?.message;
  if (fault !== undefined) throw new ConfigError(`${option} ${fault}`);
  return { [name]: value };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        help: { type: 'boolean', short: 'h' },
        transport: { type: 'string' },
        port: { type: 'string' },
      },
    }).values;
  } catch (error) {
    const { message } = error as Error;
    throw new AppError('BAD_REQUEST', `${message.split('. ')[0]}\n\n${usage.trimEnd()}`);
  }
}
