import type { ErrorCode } from '../../errors.ts';
import type { ChatSource } from './sources.ts';

/** The possible codes of an error event. */
const eventCodes = [
  'DEADLINE_EXCEEDED',
  'GATEWAY_BAD_REQUEST',
  'GATEWAY_KEY_INVALID',
  'GATEWAY_OUT_OF_CREDITS',
  'GATEWAY_RATE_LIMITED',
  'GATEWAY_UNAVAILABLE',
  'GATEWAY_NOT_CONFIGURED',
  'GATEWAY_ERROR',
  'INTERNAL_ERROR',
] as const satisfies readonly ErrorCode[];

type EventCode = (typeof eventCodes)[number];

/** The arguments of a tool call. */
export type ToolArguments = Record<string, unknown>;

/** One event of the stream, with its fields in the order in which they are sent. */
export type ChatEvent =
  | { type: 'info'; request_id: string; session_id: string | null; sources: ChatSource[] }
  | { type: 'agent_reasoning'; iteration: number; request_id: string }
  | { type: 'token'; text: string }
  | {
      type: 'confirm_required';
      confirm_id: string;
      name: string;
      args: ToolArguments;
      tool_call_id: string;
    }
  | { type: 'tool_start'; name: string; args: ToolArguments; tool_call_id: string }
  | ({
      type: 'tool_end';
      name: string;
      tool_call_id: string;
      success: boolean;
      duration_ms: number;
    } & ({ result: string } | { error: string }))
  | { type: 'error'; message: string; code: EventCode; request_id: string }
  | { type: 'done'; answer: string; request_id: string };

/** Sends an event to the client. Resolves when there is room for another. Never throws. */
export type Emit = (event: ChatEvent) => Promise<void>;

/** The code of an error event: INTERNAL_ERROR for codes that the stream does not have. */
export function eventCodeOf(code: ErrorCode): EventCode {
  return eventCodes.find((known) => known === code) ?? 'INTERNAL_ERROR';
}
