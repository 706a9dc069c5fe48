import type { Readable, Writable } from 'node:stream';
import * as z from 'zod';
import type { Clock } from '../clock.ts';
import { listenVariables } from '../config/listen.ts';
import { mcpSurfaceVariables } from '../config/mcp.ts';
import { ConfigError, type Environment, readConfig } from '../config/read.ts';
import { configuredSecrets } from '../config/secrets.ts';
import { unavailableDatabase } from '../database/open.ts';
import { checkGit } from '../git/git-version.ts';
import { buildDeps, type Deps } from '../http/deps.ts';
import { chooseConnectionLimits } from '../http/server/open-connections.ts';
import { serveNode } from '../http/server/serve.ts';
import { createLog, type Log } from '../log/log.ts';
import { openRedis } from '../rate-limits/redis.ts';
import { createRedactor } from '../security/redaction/redactor.ts';
import { parseNetworks } from '../text/network.ts';
import type { ToolDeps } from '../tools/tool.ts';
import { createMcpApp } from './app.ts';
import { parseMcpArguments } from './arguments.ts';
import { prepareMcpServer } from './base/server.ts';
import { catalogue } from './catalogue.ts';
import { followInstallation, type Installation } from './installation.ts';
import { serveStdio } from './transports/stdio.ts';

const commandVariables = z.object({
  ...mcpSurfaceVariables.shape,
  HOST: listenVariables.shape.HOST,
});
type CommandConfig = z.output<typeof commandVariables>;

export interface McpCommand {
  /** The command line without the program. */
  args: readonly string[];
  installation: Installation;
  stdin: Readable;
  stdout: Writable;
  clock: Clock;
  /** Aborts when the process is told to end. */
  stopping: AbortSignal;
}

/**
 * Runs `npm run mcp` until its client disconnects or the process is told to end, and returns the exit code. Throws
 * ConfigError for an invalid variable or transport, and for http and sse without MCP_AUTH_TOKEN.
 */
export async function runMcp(command: McpCommand): Promise<number> {
  const { args, clock, stdin, stdout, stopping } = command;
  const parsed = parseMcpArguments(args);
  if (parsed.help !== null) {
    stdout.write(`${parsed.help}\n`);
    return 0;
  }
  const installation: Installation = {
    ...command.installation,
    readEnvironment: () => ({ ...command.installation.readEnvironment(), ...parsed.variables }),
  };
  const environment = installation.readEnvironment();
  const config = readConfig(commandVariables, environment);
  const redactor = createRedactor(configuredSecrets(environment));
  const log = createLog(config.LOG_LEVEL, clock, undefined, redactor);
  const { MCP_TRANSPORT: transport, MCP_AUTH_TOKEN: token } = config;
  if (transport !== 'stdio' && token === undefined) {
    throw new ConfigError(`MCP_AUTH_TOKEN must be set for the ${transport} transport`);
  }
  const followed = followInstallation({ installation, clock, log, redactor });
  const { loadDeps } = followed;
  try {
    log.info('the MCP server starts', { transport });
    void warnAboutGit(environment, log, stopping);
    if (transport === 'stdio') {
      const loadCatalogue = async () => catalogue;
      const createServer = prepareMcpServer({ loadCatalogue, loadDeps, log });
      await serveStdio({ createServer, guard: { redactor, log, clock }, stdin, stdout, stopping });
    } else {
      const deps = buildDeps({
        config,
        db: unavailableDatabase(new Error('each call chooses its database')),
        redis: openRedis(config),
        log,
        redactor,
        clock,
        fetch,
        waitUntil: () => undefined,
      });
      await serveHttp(deps, { transport, loadDeps, stdout, stopping });
    }
    return 0;
  } finally {
    await followed.close();
  }
}

/** Warns without a usable git, which is only needed to read archives. */
async function warnAboutGit(environment: Environment, log: Log, stopping: AbortSignal) {
  try {
    await checkGit(environment, stopping);
  } catch (error) {
    if (!stopping.aborted) log.warn('git bundles cannot be read', { error });
  }
}

interface HttpOptions extends Pick<McpCommand, 'stdout' | 'stopping'> {
  transport: 'http' | 'sse';
  loadDeps: () => Promise<ToolDeps>;
}

async function serveHttp(
  deps: Deps<CommandConfig>,
  { transport, loadDeps, stdout, stopping }: HttpOptions,
): Promise<void> {
  const { config, log, clock } = deps;
  const app = createMcpApp(deps, { serve: transport, loadDeps, stopping });
  const server = await serveNode({
    fetch: app.fetch,
    host: config.HOST,
    port: config.MCP_PORT,
    portVariable: 'MCP_PORT',
    log,
    clock,
    connections: chooseConnectionLimits(parseNetworks(config.TRUSTED_PROXIES)),
  });
  const path = transport === 'http' ? '/mcp' : '/sse';
  stdout.write(
    `The MCP server listens at ${server.url}${path} and requires MCP_AUTH_TOKEN as a bearer token. Ctrl-C stops it.\n`,
  );
  if (!stopping.aborted) {
    await new Promise((resolve) => stopping.addEventListener('abort', resolve, { once: true }));
  }
  await server.close();
}
