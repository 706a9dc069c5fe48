import { archivePath } from '../platform/config/archives.ts';
import { backendUrl, type McpConfig, observatoryUrl } from '../platform/config/mcp.ts';
import type { Deps } from '../platform/deps.ts';
import { AppError } from '../platform/errors.ts';
import type { BackupSource } from '../tools/backup-source.ts';
import { createDatabaseSource } from '../tools/database-source.ts';
import type { ToolHandles } from '../tools/index.ts';
import { createLocalArchives } from '../tools/local-archives.ts';
import { createReportSender } from '../tools/reports.ts';
import { createSystemFacts } from '../tools/system.ts';
import { createKnowledgeSearch } from './knowledge-search.ts';
import { createRemoteSource } from './remote-source.ts';

/** Where backup data comes from: the database, or the service API at BACKEND_URL. */
type DataSource = 'database' | 'backend' | 'none';

/**
 * The database when DATABASE_URL is set or the process has a database of its own, else the service API
 * when BACKEND_URL is set (spec 3, What the service does).
 */
function chooseDataSource({ config, db }: Deps<McpConfig>): DataSource {
  if (config.DATABASE_URL !== undefined || db.driver === 'embedded') return 'database';
  return config.BACKEND_URL === undefined ? 'none' : 'backend';
}

/** What is there without a database and without BACKEND_URL: tools fail naming both. */
function createMissingSource(deps: Deps<McpConfig>): BackupSource {
  const query = async () => {
    throw new AppError(
      'SERVICE_UNAVAILABLE',
      'there is no backup data: set DATABASE_URL, or for reading alone BACKEND_URL',
    );
  };
  return {
    ...createDatabaseSource({ ...deps, db: { ...deps.db, query } }),
    findArchive: async () => null,
  };
}

/** What the tools reach the world through, shared by every connection of a process. */
export function createToolHandles(
  deps: Deps<McpConfig>,
  source: DataSource = chooseDataSource(deps),
): ToolHandles {
  const { config, log, clock, fetch } = deps;
  const secret = config.INTERNAL_SECRET;
  const backend = backendUrl(config);
  const backups = {
    database: () => createDatabaseSource(deps),
    backend: () => createRemoteSource({ url: backend, secret, fetch, clock, log }),
    none: () => createMissingSource(deps),
  }[source]();
  return {
    backups,
    archives: createLocalArchives(deps, backups),
    knowledge: source === 'database' ? createKnowledgeSearch(deps) : null,
    reports: createReportSender({ url: observatoryUrl(config), secret, fetch }),
    system: createSystemFacts({
      archivePath: archivePath(config),
      backendUrl: backend,
      fetch,
      log,
    }),
    clock,
  };
}
