import type { ObservatoryConfig } from '../../config/observatory.ts';
import type { Deps } from '../../deps.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import type { GatewayTransport } from '../../gateway/transport.ts';
import { createReportMail, type ReportMail } from '../reports/send-report-email.ts';
import type { AskServiceApi } from '../service-api.ts';
import type { ConfirmationStore } from './confirmation-store.ts';
import { createConfirmationStore } from './confirmations.ts';
import { createToolDeps, type ToolDepsOf } from './tool-deps.ts';

/** What the chat has beside the other deps of the observatory. */
export interface ChatDeps {
  transport: GatewayTransport;
  confirmations: ConfirmationStore;
  toolsOf: ToolDepsOf;
  reportMail: ReportMail;
  /** Aborts when the process ends. */
  stopping: AbortSignal | null;
}

/** Builds them for one process. */
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
    stopping,
  };
}
