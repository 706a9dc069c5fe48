import { tmpdir } from 'node:os';
import { createArchiveReader } from '../../archives/archives.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import type { ObservatoryConfig } from '../../platform/config/observatory.ts';
import { archivePath } from '../../platform/config/worker.ts';
import type { Deps } from '../../platform/deps.ts';
import { search } from '../../search/search.ts';
import { sourceTypes } from '../../search/source-types.ts';
import { createDatabaseSource } from '../../tools/database-source.ts';
import type { ToolHandles } from '../../tools/index.ts';
import { createReportSender } from '../../tools/reports.ts';
import { createSystemFacts } from '../../tools/system.ts';
import type { AskServiceApi } from '../service-api.ts';

/** The handles of the tools that run for one user. */
export type ToolHandlesOf = (username: string) => ToolHandles;

/**
 * What the agent's tools reach the world through: this process's database and archives. A user finds the
 * answers of their own chats alone, and searches with their own gateway key.
 */
export function createToolHandles(
  deps: Deps<ObservatoryConfig>,
  gateway: Gateway,
  askServiceApi: AskServiceApi,
): ToolHandlesOf {
  const { config, db, log, redactor, clock, fetch } = deps;
  const folder = archivePath(config);
  const backups = createDatabaseSource(deps);
  const askBackend: typeof fetch = (address, init) =>
    config.BACKEND_URL === undefined && init?.signal
      ? askServiceApi(init.signal)
      : fetch(address, init);
  const shared = {
    backups,
    archives: createArchiveReader({
      root: folder,
      findRecord: (repository, signal) => backups.findArchive(repository, signal),
      scratchFolder: tmpdir(),
      environment: { PATH: config.PATH },
      clock,
    }),
    // Reports go out by send_report_email, after a person's consent.
    reports: createReportSender({ url: null, secret: undefined, fetch }),
    system: createSystemFacts({
      archivePath: folder,
      backendUrl: config.BACKEND_URL ?? 'http://localhost',
      fetch: askBackend,
      log,
    }),
    clock,
  };
  return (username) => ({
    ...shared,
    knowledge: {
      async search(query, limit, signal) {
        const resolveKeys = () => gateway.credentials.resolveKeys(username);
        const { results, degraded_reason } = await search(
          { db, log, redactor, client: gateway.client, resolveKeys },
          {
            query,
            sourceTypes,
            limit,
            ftsWeight: 1,
            semanticWeight: 1,
            rerankModel: null,
            investigationsOf: username,
            signal,
          },
        );
        return { hits: results, degraded_reason };
      },
    },
  });
}
