import * as z from 'zod';
import { seconds, wholeNumber } from './values.ts';

/** The chat agent and tool confirmations. */
export const chatVariables = z.object({
  AGENT_REQUEST_DEADLINE_SECONDS: seconds(86_400)
    .default(280)
    .describe('time limit of a chat turn, in seconds'),
  AGENT_HISTORY_MAX_MESSAGES: wholeNumber(0, 500)
    .default(20)
    .describe('how many earlier messages are sent to the model'),
  HITL_CONFIRMATION_TIMEOUT_SECONDS: seconds(86_400)
    .default(120)
    .describe('seconds after which an unanswered confirmation expires'),
  HITL_POLL_INTERVAL_SECONDS: seconds(3_600)
    .default(0.5)
    .describe('how often a waiting turn checks its confirmation, in seconds'),
});

export type ChatConfig = z.output<typeof chatVariables>;
