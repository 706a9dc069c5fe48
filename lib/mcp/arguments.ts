import { Command } from 'commander';
import { parseCommandLine } from '../command-line.ts';
import { mcpVariables } from '../config/mcp.ts';
import { ConfigError } from '../config/read.ts';

/** The options as variables, or the help text if it was requested. */
export type McpArguments = { help: string } | { help: null; variables: Record<string, string> };

/**
 * Reads the command line. Throws BAD_REQUEST for an unknown option or a missing value, and ConfigError for an
 * invalid transport or port.
 */
export function parseMcpArguments(args: readonly string[]): McpArguments {
  const program = new Command('npm run -s mcp --')
    .description('Serves backup data and actions to AI agents over the Model Context Protocol.')
    .option(
      '--transport <name>',
      `stdio (default): JSON-RPC on stdin and stdout, as desktop and editor clients start it; http: streamable HTTP at POST /mcp; sse: the older GET /sse with POST /message. Both need MCP_AUTH_TOKEN, and also answer GET /health`,
    )
    .option('--port <port>', 'port of http and sse, default 8090')
    .addHelpText(
      'after',
      '\nVariables: MCP_TRANSPORT, MCP_PORT, MCP_AUTH_TOKEN, HOST, DATABASE_URL, BACKEND_URL, INTERNAL_SECRET, LOG_LEVEL.',
    )
    .showHelpAfterError();
  const help = parseCommandLine(program, args);
  if (help !== null) return { help };
  const { transport, port } = program.opts<{ transport?: string; port?: string }>();
  return {
    help: null,
    variables: {
      ...check('MCP_TRANSPORT', '--transport', transport),
      ...check('MCP_PORT', '--port', port),
    },
  };
}

/** Validates an option like the variable that it stands for. */
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
