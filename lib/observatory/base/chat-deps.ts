import { archivePath } from '../../config/archives.ts';
import type { ObservatoryConfig } from '../../config/observatory.ts';
import { AppError } from '../../errors.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import type { GatewayTransport } from '../../gateway/transport.ts';
import type { Deps } from '../../http/deps.ts';
import { createDatabaseSource } from '../../tools/database-source.ts';
import { createKnowledgeSearch } from '../../tools/knowledge.ts';
import { createLocalArchives } from '../../tools/local-archives.ts';
import { createReportSender } from '../../tools/reports.ts';
import { createSystemFacts } from '../../tools/system.ts';
import type { ToolDeps } from '../../tools/tool.ts';
import { createReportMail, type ReportMail } from '../reports/send-report.ts';
import { type ConfirmationStore, createConfirmationStore } from './confirmation-store.ts';
import type { AskServiceApi } from './readiness.ts';
import { createRunningTurns, type RunningTurns } from './running-turns.ts';

/** Additional dependencies of the chat. */
export interface ChatDeps {
  transport: GatewayTransport;
  confirmations: ConfirmationStore;
  /** Returns the dependencies of the tools that run for a user. */
  toolsOf(username: string): ToolDeps;
  reportMail: ReportMail;
  runningTurns: RunningTurns;
  /** Aborts when the process ends. */
  stopping: AbortSignal | null;
}

/** Creates the dependencies of one process. */
export function createChatDeps(
  deps: Deps<ObservatoryConfig>,
  parts: { gateway: Gateway; askServiceApi: AskServiceApi; stopping: AbortSignal | null },
): ChatDeps {
  const { gateway, askServiceApi, stopping } = parts;
  return {
    transport: gateway.transport,
    confirmations: createConfirmationStore(deps.redis, deps.clock, deps.config),
    toolsOf: createToolDeps(deps, gateway, askServiceApi),
    reportMail: createReportMail(deps),
    runningTurns: createRunningTurns({
      ...deps,
      deadlineMs: deps.config.AGENT_REQUEST_DEADLINE_SECONDS * 1000,
    }),
    stopping,
  };
}

/**
 * The tools use the database and the archives of this process. A user finds only their own chats, and searches
 * with their own gateway key.
 */
function createToolDeps(
  deps: Deps<ObservatoryConfig>,
  gateway: Gateway,
  askServiceApi: AskServiceApi,
): ChatDeps['toolsOf'] {
  const { config, db, log, redactor, clock, fetch } = deps;
  const backups = createDatabaseSource(deps);
  const askBackend: typeof fetch = (address, init) =>
    config.BACKEND_URL === undefined && init?.signal
      ? askServiceApi(init.signal)
      : fetch(address, init);
  const shared = {
    backups,
    archives: createLocalArchives(deps, backups),
    // Reports are mailed by send_report_email, after a person approved them.
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
      knowledge: createKnowledgeSearch(
        { config, db, log, redactor, client, resolveKeys },
        username,
      ),
    };
  };
}

async function refuseReports(): Promise<never> {
  throw new AppError('SERVICE_UNAVAILABLE', 'in the chat, reports are mailed by send_report_email');
}
