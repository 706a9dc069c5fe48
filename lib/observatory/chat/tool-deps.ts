import { archivePath } from '../../config/archives.ts';
import type { ObservatoryConfig } from '../../config/observatory.ts';
import type { Deps } from '../../deps.ts';
import { AppError } from '../../errors.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import { createDatabaseSource } from '../../tools/database-source.ts';
import { createHybridKnowledge } from '../../tools/hybrid-knowledge.ts';
import type { ToolDeps } from '../../tools/index.ts';
import { createLocalArchives } from '../../tools/local-archives.ts';
import { createReportSender } from '../../tools/reports.ts';
import { createSystemFacts } from '../../tools/system.ts';
import type { AskServiceApi } from '../service-api.ts';

async function refuseReports(): Promise<never> {
  throw new AppError('SERVICE_UNAVAILABLE', 'reports go out by send_report_email here');
}

/** The dependencies of the tools that run for one user. */
export type ToolDepsOf = (username: string) => ToolDeps;

/**
 * What the agent's tools reach the world through: this process's database and archives. A user finds the
 * answers of their own chats alone, and searches with their own gateway key.
 */
export function createToolDeps(
  deps: Deps<ObservatoryConfig>,
  gateway: Gateway,
  askServiceApi: AskServiceApi,
): ToolDepsOf {
  const { config, db, log, redactor, clock, fetch } = deps;
  const backups = createDatabaseSource(deps);
  const askBackend: typeof fetch = (address, init) =>
    config.BACKEND_URL === undefined && init?.signal
      ? askServiceApi(init.signal)
      : fetch(address, init);
  const shared = {
    backups,
    archives: createLocalArchives(deps, backups),
    // Reports go out by send_report_email, after a person's consent.
    reports: createReportSender({ findUrl: refuseReports, secret: undefined, fetch }),
    system: createSystemFacts({
      archivePath: archivePath(config),
      findBackend: async () => config.BACKEND_URL ?? 'http://localhost',
      fetch: askBackend,
      log,
    }),
    clock,
    redactor,
  };
  return (username) => {
    const resolveKeys = () => gateway.credentials.resolveKeys(username);
    const { client } = gateway;
    return {
      ...shared,
      knowledge: createHybridKnowledge({ db, log, redactor, client, resolveKeys }, username),
    };
  };
}
