import * as z from 'zod';
import type { ErrorCode } from '../../errors.ts';
import { searchableTypes } from '../../search/source-types.ts';

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

const toolArguments = z.record(z.string(), z.unknown());

/** The arguments of a tool call. */
export type ToolArguments = z.output<typeof toolArguments>;

/** A time in events and answers: ISO 8601 in UTC, with milliseconds. */
const time = z.iso.datetime({ precision: 3 });

/** Why a model stopped: it was done, it reached its limit, or its provider withheld the rest. */
export const finishReason = z.enum(['stop', 'length', 'content_filter']);

/** Why an answer ended. */
export const answerEnd = finishReason.nullable().meta({
  description:
    "Why the answer ended: `length` if it was cut off at the model's limit, `content_filter` if the provider withheld the rest, otherwise `stop`. Null if it failed, or if it is not known.",
});

const source = z.object({
  source_type: z.enum(searchableTypes),
  source_id: z.string(),
  title: z.string(),
  snippet: z.string(),
  score: z.number(),
  metadata: z.record(z.string(), z.unknown()),
});

/** A record that was found for a question. */
export const chatSource = source.meta({ id: 'ChatSource' });

/** How a person decided about a call; `expired` without a decision in time. */
const decision = z
  .enum(['approved', 'rejected', 'expired'])
  .optional()
  .meta({ description: 'Only for a call that a person was asked about.' });

const outcome = {
  success: z.boolean(),
  duration_ms: z.number(),
  result: z.string().optional().meta({ description: 'If it succeeded.' }),
  error: z.string().optional().meta({ description: 'If it failed or did not run.' }),
  decision,
};

/** The outcome of a call, as it is returned and stored. */
export const toolExecution = z
  .object({ tool_call_id: z.string(), name: z.string(), args: toolArguments, ...outcome })
  .meta({ id: 'ChatToolCall' });

/** The question whether a call may run. */
const question = {
  confirm_id: z.guid(),
  name: z.string(),
  args: toolArguments,
  tool_call_id: z.string(),
  expires_at: time.meta({ description: 'No decision is accepted after it.' }),
};

/** A turn that continues without its client. */
export const runningTurn = z
  .object({
    request_id: z.string(),
    ends_at: time.meta({ description: 'When the deadline ends it.' }),
    confirmation: z
      .object(question)
      .meta({ id: 'ChatConfirmation' })
      .nullable()
      .meta({ description: 'What it waits for a person to approve.' }),
  })
  .meta({ id: 'RunningChatTurn' });

/** One event of the stream, with its fields in the order in which they are sent. */
export const chatEvent = z
  .discriminatedUnion('type', [
    z.object({
      type: z.literal('info'),
      request_id: z.string(),
      session_id: z.guid().nullable(),
      sources: z.array(source),
    }),
    z.object({
      type: z.literal('agent_reasoning'),
      iteration: z.int(),
      request_id: z.string(),
    }),
    z.object({
      type: z.literal('reasoning'),
      text: z.string(),
      replaces_text: z.literal(true).optional().meta({
        description:
          'The text was sent as tokens just before, and is no part of the answer: the model did not say where its reasoning began.',
      }),
    }),
    z.object({ type: z.literal('token'), text: z.string() }),
    z.object({ type: z.literal('confirm_required'), ...question }),
    z.object({
      type: z.literal('tool_start'),
      name: z.string(),
      args: toolArguments,
      tool_call_id: z.string(),
    }),
    z.object({
      type: z.literal('tool_end'),
      name: z.string(),
      tool_call_id: z.string(),
      ...outcome,
    }),
    z.object({
      type: z.literal('error'),
      message: z.string(),
      code: z.enum(eventCodes),
      request_id: z.string(),
    }),
    z.object({
      type: z.literal('done'),
      answer: z.string(),
      request_id: z.string(),
      finish_reason: answerEnd,
    }),
  ])
  .meta({ id: 'ChatEvent' });

export type FinishReason = z.output<typeof finishReason>;
export type ChatSource = z.output<typeof chatSource>;
export type ToolExecution = z.output<typeof toolExecution>;
export type RunningTurn = z.output<typeof runningTurn>;
export type ChatEvent = z.output<typeof chatEvent>;

/** Sends an event to the client. Resolves when there is room for another. Never throws. */
export type Emit = (event: ChatEvent) => Promise<void>;

/** The code of an error event: INTERNAL_ERROR for codes that the stream does not have. */
export function eventCodeOf(code: ErrorCode): EventCode {
  return eventCodes.find((known) => known === code) ?? 'INTERNAL_ERROR';
}
