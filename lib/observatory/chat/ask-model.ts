import { randomUUID } from 'node:crypto';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import {
  InvalidResponseDataError,
  jsonSchema,
  type ModelMessage,
  streamText,
  type ToolSet,
  tool,
} from 'ai';
import { createParser } from 'eventsource-parser';
import * as z from 'zod';
import { linkSignal } from '../../async.ts';
import { GatewayFailure, malformed, translateFailure } from '../../gateway/gateway-failure.ts';
import type { KeyRing } from '../../gateway/keys.ts';
import { embeddedFailure, type GatewayTransport } from '../../gateway/transport.ts';
import { ReasoningSplitter, type SaidPiece } from '../../text/reasoning.ts';
import type { FinishReason } from '../base/chat-events.ts';
import { agentTools } from './agent-tools.ts';
import type { ModelToolCall } from './tool-calls.ts';

/** One request to the model. */
export interface ModelRequest {
  model: string;
  keys: KeyRing;
  instructions: string;
  messages: ModelMessage[];
  /** False when the model must answer now. */
  mayCallTools: boolean;
  signal: AbortSignal;
  /** Receives the answer and the reasoning before it piece by piece. */
  onPiece(piece: SaidPiece): Promise<void>;
}

/** The model's answer: text, tool calls, or both. */
export interface ModelAnswer {
  /** Without the reasoning. */
  text: string;
  calls: ModelToolCall[];
  /** Why the model stopped. */
  finishReason: FinishReason;
}

/** The tools as described to the model. They have no `execute`, so the AI SDK does not run them. */
const offered: ToolSet = Object.fromEntries(
  agentTools.map(({ name, description, input }) => {
    const { $schema, ...schema } = z.toJSONSchema(input, { io: 'input' });
    const inputSchema = jsonSchema(schema as Parameters<typeof jsonSchema>[0]);
    return [name, tool({ description, inputSchema })];
  }),
);

/**
 * Asks the model once and streams its text. Throws AppErrors with the codes of an error event, or the
 * signal's reason. Fails over to another key only before the first piece of the answer.
 */
export async function askModel(
  transport: GatewayTransport,
  request: ModelRequest,
): Promise<ModelAnswer> {
  const { keys, onPiece } = request;
  const { signal, release, abort } = linkSignal(request.signal);
  const answer: ModelAnswer = { text: '', calls: [], finishReason: 'stop' };
  try {
    const { first, parts } = await keys.use(async (key) => {
      const parts = streamParts(transport, key, { ...request, signal });
      return { first: await parts.next(), parts };
    });
    let next = first;
    for (; !next.done; next = await parts.next()) {
      const { value } = next;
      if ('name' in value) {
        answer.calls.push(value);
        continue;
      }
      if (value.endsHidden) answer.text = '';
      if (value.kind === 'text') answer.text += value.text;
      await onPiece(value);
    }
    answer.finishReason = next.value;
  } catch (error) {
    signal.throwIfAborted();
    // Stops reading the rest of the answer.
    abort(error);
    throw error instanceof GatewayFailure ? await explainLate(error, keys) : error;
  } finally {
    release();
  }
  signal.throwIfAborted();
  return answer;
}

/** Explains a failure that comes too late to fail over. A user's own refused key is still marked as invalid. */
async function explainLate(failure: GatewayFailure, keys: KeyRing): Promise<unknown> {
  if (keys.source === 'server' || failure.outcome !== 401) return translateFailure(failure);
  return keys.use(() => Promise.reject(failure)).catch((error: unknown) => error);
}

/** Yields what the model says and its tool calls, and returns why it stopped. Throws GatewayFailure. */
async function* streamParts(
  transport: GatewayTransport,
  key: string,
  { model, instructions, messages, mayCallTools, signal }: Omit<ModelRequest, 'keys' | 'onPiece'>,
): AsyncGenerator<SaidPiece | ModelToolCall, FinishReason> {
  const seen: SeenEvents = { callIds: new Set(), finishReason: null };
  const provider = createOpenAICompatible({
    name: 'gateway',
    baseURL: transport.baseUrl,
    fetch: async (to, init) => {
      const body: unknown = JSON.parse(String(init?.body));
      const request = { method: 'POST', to: String(to), key, body, signal } as const;
      const { headers, chunks } = await transport.openStream(request);
      const events = ReadableStream.from(readEvents(chunks, seen));
      return new Response(events.pipeThrough(new TextEncoderStream()), { headers });
    },
  });
  const { stream } = streamText({
    model: provider(model),
    instructions,
    messages,
    tools: offered,
    toolChoice: mayCallTools ? 'auto' : 'none',
    maxRetries: 0,
    abortSignal: signal,
    // Errors are thrown below; by default they would be printed.
    onError: () => undefined,
  });
  const splitter = new ReasoningSplitter();
  try {
    for await (const part of stream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'text-delta') yield* splitter.push(part.text);
      if (part.type === 'reasoning-delta' && part.text !== '') {
        yield { kind: 'reasoning', text: part.text };
      }
      if (part.type === 'tool-call') {
        const { toolCallId, toolName, input } = part;
        // The AI SDK also makes up ids, for calls without one and for duplicates: those become UUIDs.
        const tool_call_id = seen.callIds.has(toolCallId) ? toolCallId : randomUUID();
        yield { tool_call_id, name: toolName, args: input };
      }
    }
    yield* splitter.end();
  } catch (error) {
    throw asGatewayFailure(error, key);
  }
  return readFinishReason(seen.finishReason);
}

/** What the AI SDK does not pass on. */
interface SeenEvents {
  /** The ids that the model gave its tool calls. */
  callIds: Set<string>;
  finishReason: string | null;
}

/** The parts of an event that decide what is passed on. */
const rawEvent = z.looseObject({
  error: z.unknown().optional(),
  choices: z.array(
    z.looseObject({
      finish_reason: z.string().nullish(),
      delta: z
        .looseObject({ tool_calls: z.array(z.looseObject({ id: z.string().nullish() })).nullish() })
        .nullish(),
    }),
  ),
});

/**
 * Passes on the events of an answer up to its finish reason. Gateways send more after it (usage, errors, or nothing
 * at all until the connection times out), none of which can change an answer that is finished. Events without
 * choices, such as those of usage alone, are left out wherever they come.
 */
async function* readEvents(
  chunks: AsyncIterable<Uint8Array>,
  seen: SeenEvents,
): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder();
  const arrived: string[] = [];
  const parser = createParser({ onEvent: ({ data }) => arrived.push(data) });
  for await (const chunk of withEnd(chunks)) {
    parser.feed(
      chunk === null ? `${decoder.decode()}\n\n` : decoder.decode(chunk, { stream: true }),
    );
    for (const data of arrived.splice(0)) {
      if (data === '[DONE]') return;
      const event = readEvent(data, seen);
      if (event !== null) yield `data: ${event}\n\n`;
      if (seen.finishReason !== null) return;
    }
  }
}

/** Then null: the end of a stream ends its last event too. */
async function* withEnd<Value>(values: AsyncIterable<Value>): AsyncGenerator<Value | null> {
  yield* values;
  yield null;
}

/** One event as the AI SDK expects it, on one line; null for one that says nothing. */
function readEvent(data: string, seen: SeenEvents): string | null {
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch {
    // Reported by the AI SDK.
    return data.replaceAll('\n', ' ');
  }
  const { error, choices } = Object(value) as { error?: unknown; choices?: unknown };
  const hasError = error !== undefined && error !== null;
  if (!hasError && (choices === undefined || choices === null)) return null;
  const event = rawEvent.safeParse(value).data;
  if (hasError || event === undefined) return JSON.stringify(value);
  const [choice] = event.choices;
  for (const { id } of choice?.delta?.tool_calls ?? []) if (id) seen.callIds.add(id);
  seen.finishReason = choice?.finish_reason || null;
  const { error: _, ...rest } = event;
  return JSON.stringify({
    ...rest,
    // Some gateways send an empty text until there is a reason.
    choices: event.choices.map((it) => ({ ...it, finish_reason: it.finish_reason || null })),
  });
}

/** What gateways call the reasons, besides OpenAI's own names. */
const reasons: Record<string, FinishReason> = {
  length: 'length',
  max_tokens: 'length',
  max_output_tokens: 'length',
  model_length: 'length',
  model_context_window_exceeded: 'length',
  content_filter: 'content_filter',
  content_filtered: 'content_filter',
  safety: 'content_filter',
  prohibited_content: 'content_filter',
  blocklist: 'content_filter',
  recitation: 'content_filter',
  refusal: 'content_filter',
};

/** Throws GatewayFailure for an answer that the gateway calls failed. */
function readFinishReason(reason: string | null): FinishReason {
  const name = reason?.toLowerCase().replaceAll('-', '_') ?? 'stop';
  if (name === 'error') throw malformed('the answer finished with an error');
  return reasons[name] ?? 'stop';
}

/** Unwraps failures that the AI SDK wrapped, and converts errors that the gateway reported in an event. */
function asGatewayFailure(error: unknown, key: string): GatewayFailure {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof GatewayFailure) return at;
  }
  // How the AI SDK reports a stream that ended without a finish reason.
  if (InvalidResponseDataError.isInstance(error) && error.data === undefined) {
    return new GatewayFailure('unreachable', 'the stream ended early', { cause: error });
  }
  return embeddedFailure({ error }, key) ?? malformed('an event has an unexpected shape', error);
}
