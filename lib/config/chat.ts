import * as z from 'zod';
import { seconds, wholeNumber } from './values.ts';

/** The chat agent and the confirmation of its tools. */
export const chatVariables = z.object({
  AGENT_REQUEST_DEADLINE_SECONDS: seconds(86_400)
    .default(280)
    .describe('seconds after which a turn of the chat is ended'),
  AGENT_HISTORY_MAX_MESSAGES: wholeNumber(0, 500)
    .default(20)
    .describe('messages of the session that the model sees'),
  HITL_CONFIRMATION_TIMEOUT_SECONDS: seconds(86_400)
    .default(120)
    .describe('seconds after which a confirmation that nobody decided expires'),
  HITL_POLL_INTERVAL_SECONDS: seconds(3_600)
    .default(0.5)
    .describe('seconds between two looks of a waiting stream at its confirmation'),
});

/** `chatVariables` as they were read. */
export type ChatConfig = z.output<typeof chatVariables>;
