import { archivePath } from '../config/archives.ts';
import type { McpConfig } from '../config/mcp.ts';
import { AppError } from '../errors.ts';
import { createGatewayClient } from '../gateway/client.ts';
import { createGatewayCredentials } from '../gateway/credentials.ts';
import { createGatewayTransport } from '../gateway/transport.ts';
import type { Deps } from '../http/deps.ts';
import type { BackupSource } from '../tools/backup-source.ts';
import { createDatabaseSource } from '../tools/database-source.ts';
import { createKnowledgeSearch, type KnowledgeSearch } from '../tools/knowledge.ts';
import { createLocalArchives } from '../tools/local-archives.ts';
import { createReportSender } from '../tools/reports.ts';
import { createSystemFacts } from '../tools/system.ts';
import type { ToolDeps } from '../tools/tool.ts';
import { createRemoteSource } from './remote/source.ts';

/** Where backup data comes from: the database, the service API at an address, or nowhere. */
export type DataSource = { kind: 'database' } | { kind: 'none' } | { kind: 'backend'; url: string };

export interface ToolDepsOptions {
  source: DataSource;
  /** The address of this installation's running server; null if none is running or known. */
  findServer(): Promise<string | null>;
  /** What to do when there is neither data nor a server, as the end of a sentence. */
  remedy: string;
}

/** The options of a process that runs alone, such as a deployed function. */
function configuredOptions({ config, db }: Deps<McpConfig>): ToolDepsOptions {
  const { DATABASE_URL, BACKEND_URL } = config;
  const hasDatabase = DATABASE_URL !== undefined || db.driver === 'embedded';
  return {
    source: hasDatabase
      ? { kind: 'database' }
      : BACKEND_URL === undefined
        ? { kind: 'none' }
        : { kind: 'backend', url: BACKEND_URL },
    findServer: async () => null,
    remedy: 'set DATABASE_URL, or BACKEND_URL for read-only access',
  };
}

/** A source whose tools all fail, saying what to do. */
function createMissingSource(deps: Deps<McpConfig>, remedy: string): BackupSource {
  const query = async () => {
    throw new AppError('SERVICE_UNAVAILABLE', `there is no backup data: ${remedy}`);
  };
  return {
    ...createDatabaseSource({ ...deps, db: { ...deps.db, query } }),
    findArchive: async () => null,
  };
}

/** Search over everything, including all users' investigations, with the server's gateway keys. */
export function createServerKnowledge(deps: Deps<McpConfig>): KnowledgeSearch {
  const { config, db, log, redactor } = deps;
  const credentials = createGatewayCredentials(deps);
  const client = createGatewayClient(createGatewayTransport(deps));
  const resolveKeys = () => credentials.resolveKeys(null);
  return createKnowledgeSearch({ config, db, log, redactor, client, resolveKeys }, null);
}

/** Creates the dependencies of the tools. */
export function createToolDeps(
  deps: Deps<McpConfig>,
  { source, findServer, remedy }: ToolDepsOptions = configuredOptions(deps),
): ToolDeps {
  const { config, log, clock, redactor, fetch } = deps;
  const { INTERNAL_SECRET: secret, BACKEND_URL, OBSERVATORY_URL } = config;
  const findBackend = async () => BACKEND_URL ?? (await findServer());
  const backups = createSource();
  return {
    backups,
    archives: createLocalArchives(deps, backups),
    knowledge: source.kind === 'database' ? createServerKnowledge(deps) : null,
    reports: createReportSender({ findUrl: findObservatory, secret, fetch }),
    system: createSystemFacts({ archivePath: archivePath(config), findBackend, fetch, log }),
    clock,
    redactor,
  };

  function createSource(): BackupSource {
    if (source.kind === 'none') return createMissingSource(deps, remedy);
    if (source.kind === 'database') return createDatabaseSource(deps);
    return createRemoteSource({ url: source.url, secret, fetch, clock, log });
  }

  async function findObservatory(): Promise<string> {
    const missing = (why: string) => new AppError('SERVICE_UNAVAILABLE', why);
    if (OBSERVATORY_URL === '') {
      throw missing('the observatory has no address: OBSERVATORY_URL is empty');
    }
    if (OBSERVATORY_URL !== undefined) return OBSERVATORY_URL;
    const backend = await findBackend();
    if (backend !== null) return `${backend}/observatory`;
    throw missing(
      'the observatory is not running here: start it with `npm start`, or set BACKEND_URL or OBSERVATORY_URL',
    );
  }
}
