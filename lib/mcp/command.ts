import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import type { Clock } from '../platform/clock.ts';
import { listenVariables } from '../platform/config/listen.ts';
import { type McpConfig, mcpSurfaceVariables } from '../platform/config/mcp.ts';
import { ConfigError, type Environment, readConfig } from '../platform/config/read.ts';
import { configuredSecrets } from '../platform/config/secrets.ts';
import type { Database } from '../platform/database/database.ts';
import { unavailableDatabase } from '../platform/database/open.ts';
import { buildDeps, type Deps } from '../platform/deps.ts';
import { serveNode } from '../platform/http/serve.ts';
import { createLog, type Log } from '../platform/log.ts';
import { createRedactor } from '../platform/redaction.ts';
import { openRedis } from '../platform/redis.ts';
import { createMcpApp } from './app.ts';
import { parseMcpArguments, usage } from './arguments.ts';
import { catalogue } from './catalogue.ts';
import { prepareMcpServer } from './server.ts';
import { serveStdio } from './stdio.ts';
import { createToolHandles } from './tool-handles.ts';

const commandVariables = z.object({
  ...mcpSurfaceVariables.shape,
  HOST: listenVariables.shape.HOST,
});
type CommandConfig = z.output<typeof commandVariables>;

export interface McpCommand {
  /** The command line, without the program. */
  args: readonly string[];
  environment: Environment;
  stdin: Readable;
  stdout: Writable;
  clock: Clock;
  /** Aborts when the process is told to end. */
  stopping: AbortSignal;
  /** Opens the database that the configuration names; null when there is none and BACKEND_URL serves. */
  openDatabase(config: McpConfig, log: Log): Promise<Database | null>;
}

/**
 * Runs `npm run mcp` until its client goes away or the process is told to end, and returns its exit code.
 * Throws ConfigError for a bad variable or transport, and for http and sse without MCP_AUTH_TOKEN. (spec 3,
 * Transports)
 */
export async function runMcp(command: McpCommand): Promise<number> {
  const { args, clock, stdin, stdout, stopping } = command;
  const parsed = parseMcpArguments(args);
  if (parsed.help) {
    stdout.write(usage);
    return 0;
  }
  const environment = { ...command.environment, ...parsed.variables };
  const config = readConfig(commandVariables, environment);
  const redactor = createRedactor(configuredSecrets(environment));
  const log = createLog(config.LOG_LEVEL, clock, undefined, redactor);
  const { MCP_TRANSPORT: transport, MCP_AUTH_TOKEN: token } = config;
  if (transport !== 'stdio' && token === undefined) {
    throw new ConfigError(`MCP_AUTH_TOKEN must be set for the ${transport} transport`);
  }
  const db = await command.openDatabase(config, log);
  const deps = buildDeps({
    config,
    db: db ?? unavailableDatabase(new Error('there is no database: BACKEND_URL serves')),
    redis: openRedis(config),
    log,
    redactor,
    clock,
    fetch,
    waitUntil: () => undefined,
  });
  try {
    const source = db === null ? 'backend' : 'database';
    const handles = createToolHandles(deps, source);
    log.info('the MCP server starts', { transport, data: source });
    if (transport === 'stdio') {
      const createServer = prepareMcpServer({
        loadCatalogue: async () => catalogue,
        loadHandles: async () => handles,
        log,
      });
      await serveStdio({ createServer, guard: deps, stdin, stdout, stopping });
    } else {
      await serveHttp(deps, { transport, handles, stdout, stopping });
    }
    return 0;
  } finally {
    await deps.db.close();
  }
}

interface HttpOptions extends Pick<McpCommand, 'stdout' | 'stopping'> {
  transport: 'http' | 'sse';
  handles: ReturnType<typeof createToolHandles>;
}

async function serveHttp(
  deps: Deps<CommandConfig>,
  { transport, handles, stdout, stopping }: HttpOptions,
): Promise<void> {
  const { config, log, clock } = deps;
  const app = createMcpApp(deps, { serve: transport, handles, stopping });
  const server = await serveNode({
    fetch: app.fetch,
    host: config.HOST,
    port: config.MCP_PORT,
    portVariable: 'MCP_PORT',
    log,
    clock,
  });
  const path = transport === 'http' ? '/mcp' : '/sse';
  stdout.write(
    `The MCP server listens at ${server.url}${path} and wants the bearer token of MCP_AUTH_TOKEN. Ctrl-C stops it.\n`,
  );
  if (!stopping.aborted) {
    await new Promise((resolve) => stopping.addEventListener('abort', resolve, { once: true }));
  }
  await server.close();
}
