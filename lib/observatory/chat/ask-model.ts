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
import * as z from 'zod';
import { linkSignal } from '../../async.ts';
import { GatewayFailure, malformed, translateFailure } from '../../gateway/gateway-failure.ts';
import type { KeyRing } from '../../gateway/keys.ts';
import { embeddedFailure, type GatewayTransport } from '../../gateway/transport.ts';
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
  /** Receives the text piece by piece. */
  onText(text: string): Promise<void>;
}

/** The model's answer: text, tool calls, or both. */
export interface ModelAnswer {
  text: string;
  calls: ModelToolCall[];
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
  const { keys, onText } = request;
  const { signal, release, abort } = linkSignal(request.signal);
  const answer: ModelAnswer = { text: '', calls: [] };
  try {
    const { first, parts } = await keys.use(async (key) => {
      const parts = streamParts(transport, key, { ...request, signal });
      return { first: await parts.next(), parts };
    });
    for (let { value, done } = first; !done; { value, done } = await parts.next()) {
      if (typeof value !== 'string') {
        if (value) answer.calls.push(value);
        continue;
      }
      answer.text += value;
      await onText(value);
    }
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

/** Yields the pieces of the text, and the tool calls. Throws GatewayFailure. */
async function* streamParts(
  transport: GatewayTransport,
  key: string,
  { model, instructions, messages, mayCallTools, signal }: Omit<ModelRequest, 'keys' | 'onText'>,
): AsyncGenerator<string | ModelToolCall, undefined> {
  const givenIds = new Set<string>();
  let isWhole = false;
  const provider = createOpenAICompatible({
    name: 'gateway',
    baseURL: transport.baseUrl,
    fetch: (to, init) =>
      transport.openStream(
        { method: 'POST', to: String(to), key, body: JSON.parse(String(init?.body)), signal },
        () => isWhole,
      ),
  });
  const { stream } = streamText({
    model: provider(model),
    instructions,
    messages,
    tools: offered,
    toolChoice: mayCallTools ? 'auto' : 'none',
    maxRetries: 0,
    abortSignal: signal,
    includeRawChunks: true,
    // Errors are thrown below; by default they would be printed.
    onError: () => undefined,
  });
  try {
    for await (const part of stream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'raw') {
        const choices = rawChunk.safeParse(part.rawValue).data?.choices ?? [];
        if (choices.some(({ finish_reason }) => finish_reason)) isWhole = true;
        for (const { delta } of choices) {
          for (const { id } of delta?.tool_calls ?? []) if (id) givenIds.add(id);
        }
      }
      if (part.type === 'text-delta' && part.text !== '') yield part.text;
      if (part.type === 'tool-call') {
        const { toolCallId, toolName, input } = part;
        // The AI SDK also makes up ids, for calls without one and for duplicates: those become UUIDs.
        const tool_call_id = givenIds.has(toolCallId) ? toolCallId : randomUUID();
        yield { tool_call_id, name: toolName, args: input };
      }
    }
  } catch (error) {
    throw asGatewayFailure(error, key);
  }
}

/** Parts of an event that the AI SDK does not pass on. */
const rawChunk = z.object({
  choices: z.array(
    z.object({
      finish_reason: z.string().nullish(),
      delta: z
        .object({ tool_calls: z.array(z.object({ id: z.string().nullish() })).nullish() })
        .nullish(),
    }),
  ),
});

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
