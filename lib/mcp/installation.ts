import type { Clock } from '../clock.ts';
import { type McpConfig, mcpSurfaceVariables } from '../config/mcp.ts';
import { ConfigError, type Environment, readConfig } from '../config/read.ts';
import { configuredSecrets } from '../config/secrets.ts';
import type { Database } from '../database/database.ts';
import { unavailableDatabase } from '../database/open.ts';
import { AppError } from '../errors.ts';
import { buildDeps } from '../http/deps.ts';
import type { Log } from '../log/log.ts';
import { openRedis } from '../rate-limits/redis.ts';
import { createRedactor, type Redactor } from '../security/redaction/redactor.ts';
import type { ToolDeps } from '../tools/tool.ts';
import { createToolDeps, type DataSource } from './tool-deps.ts';

/** Reads the current state of the installation on this machine. */
export interface Installation {
  /** Returns the current variables. `npm start` may write some after this process has started. */
  readEnvironment(): Environment;
  /** Returns the URL of the embedded database of a running server; null if there is none. */
  findDatabase(config: McpConfig): Promise<string | null>;
  /** Returns the address of the running server; null if none is running. */
  findServer(config: McpConfig): Promise<string | null>;
  openDatabase(url: string, log: Log): Promise<Database>;
}

export interface FollowOptions {
  installation: Installation;
  clock: Clock;
  log: Log;
  /** Updated with the secrets of the current variables. */
  redactor: Redactor;
}

/** Finds the installation for each tool call. */
export interface FollowedInstallation {
  /** Returns the current dependencies of the tools. Throws SERVICE_UNAVAILABLE for an invalid variable. */
  loadDeps(): Promise<ToolDeps>;
  close(): Promise<void>;
}

const REMEDY =
  'no server of this installation is running. Start it with `npm start`, or set DATABASE_URL, or BACKEND_URL for read-only access';

/**
 * Follows an installation whose server may start, stop or change its port while this process runs. Each call
 * chooses its source: DATABASE_URL, BACKEND_URL, the embedded database of a running server, or its service API.
 * Dependencies are reused while the choice stays the same.
 */
export function followInstallation(options: FollowOptions): FollowedInstallation {
  const { installation, clock, log, redactor } = options;
  const databases = new Map<string, Promise<Database>>();
  let kept: { key: string; deps: Promise<ToolDeps> } | null = null;

  return {
    async loadDeps() {
      const environment = readEnvironment();
      const config = readVariables(environment);
      const { source, url } = await choose(config);
      const key = JSON.stringify([environment, source, url]);
      if (kept?.key === key) return kept.deps;
      log.info('where backup data comes from', { data: source.kind });
      Object.assign(redactor, createRedactor(configuredSecrets(environment)));
      const deps = makeDeps(config, source, url);
      kept = { key, deps };
      deps.catch(() => {
        if (kept?.deps === deps) kept = null;
      });
      return deps;
    },
    async close() {
      for (const database of databases.values()) await (await database).close();
    },
  };

  function readEnvironment(): Environment {
    return explain(() => installation.readEnvironment());
  }

  function readVariables(environment: Environment): McpConfig {
    return explain(() => readConfig(mcpSurfaceVariables, environment));
  }

  async function choose(config: McpConfig): Promise<{ source: DataSource; url: string | null }> {
    if (config.DATABASE_URL !== undefined) {
      return { source: { kind: 'database' }, url: config.DATABASE_URL };
    }
    if (config.BACKEND_URL !== undefined) {
      return { source: { kind: 'backend', url: config.BACKEND_URL }, url: null };
    }
    const url = await installation.findDatabase(config);
    if (url !== null) return { source: { kind: 'database' }, url };
    const server = await installation.findServer(config);
    const source: DataSource =
      server === null ? { kind: 'none' } : { kind: 'backend', url: server };
    return { source, url: null };
  }

  async function makeDeps(
    config: McpConfig,
    source: DataSource,
    url: string | null,
  ): Promise<ToolDeps> {
    const db = url === null ? noDatabase : await open(url);
    const deps = buildDeps({
      config,
      db,
      redis: openRedis(config),
      log,
      redactor,
      clock,
      fetch,
      waitUntil: () => undefined,
    });
    const findServer = () => installation.findServer(config);
    return createToolDeps(deps, { source, findServer, remedy: REMEDY });
  }

  function open(url: string): Promise<Database> {
    const opened = databases.get(url) ?? installation.openDatabase(url, log);
    databases.set(url, opened);
    opened.catch(() => databases.delete(url));
    return opened;
  }
}

const noDatabase = unavailableDatabase(new Error('this process has no database'));

/** Reports a variable that has become invalid to the client, instead of ending the process. */
function explain<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new AppError('SERVICE_UNAVAILABLE', `the configuration is invalid: ${error.message}`);
  }
}
