import { type ChatStreams, createChatStreams } from '../../gateway/chat-stream.ts';
import type { Gateway } from '../../gateway/gateway.ts';
import type { ObservatoryConfig } from '../../platform/config/observatory.ts';
import type { Deps } from '../../platform/deps.ts';
import { sendReportEmail } from '../reports/send-report-email.ts';
import type { AskServiceApi } from '../service-api.ts';
import type { SendReportEmail } from './agent-tools.ts';
import type { ConfirmationStore } from './confirmation-store.ts';
import { createConfirmationStore } from './confirmations.ts';
import { createToolHandles, type ToolHandlesOf } from './tool-handles.ts';

/** What the chat has beside the other handles of the observatory. */
export interface ChatHandles {
  streams: ChatStreams;
  confirmations: ConfirmationStore;
  toolsOf: ToolHandlesOf;
  sendReportEmail: SendReportEmail;
  /** Aborts when the process ends. */
  stopping: AbortSignal | null;
}

/** Builds them for one process. */
export function createChatHandles(
  deps: Deps<ObservatoryConfig>,
  parts: { gateway: Gateway; askServiceApi: AskServiceApi; stopping: AbortSignal | null },
): ChatHandles {
  const { gateway, askServiceApi, stopping } = parts;
  return {
    streams: createChatStreams({ ...deps, transport: gateway.transport }),
    confirmations: createConfirmationStore(deps.redis, deps.clock, deps.config),
    toolsOf: createToolHandles(deps, gateway, askServiceApi),
    sendReportEmail: (email) => sendReportEmail(deps, email),
    stopping,
  };
}
