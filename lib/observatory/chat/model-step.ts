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

/** One request to the model, with all that it may call. */
export interface ModelStep {
  model: string;
  keys: KeyRing;
  instructions: string;
  messages: ModelMessage[];
  /** False when the model has to come to an end. */
  mayCallTools: boolean;
  signal: AbortSignal;
  /** Gets the text piece by piece. */
  onText(text: string): Promise<void>;
}

/** What the model said beside its text. */
export interface ModelAnswer {
  text: string;
  calls: ModelToolCall[];
}

/** The tools as the model gets them; whoever calls this package runs them. */
const offered: ToolSet = Object.fromEntries(
  agentTools.map(({ name, description, input }) => {
    const { $schema, ...schema } = z.toJSONSchema(input, { io: 'input' });
    const inputSchema = jsonSchema(schema as Parameters<typeof jsonSchema>[0]);
    return [name, tool({ description, inputSchema })];
  }),
);

/**
 * Asks the model once and streams its text. Throws AppErrors with the codes of an error event, or the
 * signal's reason. Another key is tried only until the model has said something.
 */
export async function askModel(transport: GatewayTransport, step: ModelStep): Promise<ModelAnswer> {
  const { keys, onText } = step;
  const { signal, release, abort } = linkSignal(step.signal);
  const answer: ModelAnswer = { text: '', calls: [] };
  try {
    const { first, parts } = await keys.use(async (key) => {
      const parts = streamParts(transport, key, { ...step, signal });
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
    // What is left of the answer is not wanted.
    abort(error);
    throw error instanceof GatewayFailure ? await explainLate(error, keys) : error;
  } finally {
    release();
  }
  signal.throwIfAborted();
  return answer;
}

/** Too late for another key; a user's own that is refused now is marked as one refused at the start. */
async function explainLate(failure: GatewayFailure, keys: KeyRing): Promise<unknown> {
  if (keys.source === 'server' || failure.outcome !== 401) return translateFailure(failure);
  return keys.use(() => Promise.reject(failure)).catch((error: unknown) => error);
}

/** The pieces of the text, and the calls. Throws GatewayFailure. */
async function* streamParts(
  transport: GatewayTransport,
  key: string,
  { model, instructions, messages, mayCallTools, signal }: Omit<ModelStep, 'keys' | 'onText'>,
): AsyncGenerator<string | ModelToolCall, undefined> {
  const modelsIds = new Set<string>();
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
    // They are thrown below; by default they would be printed.
    onError: () => undefined,
  });
  try {
    for await (const part of stream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'raw') {
        const choices = rawChunk.safeParse(part.rawValue).data?.choices ?? [];
        if (choices.some(({ finish_reason }) => finish_reason)) isWhole = true;
        for (const { delta } of choices) {
          for (const { id } of delta?.tool_calls ?? []) if (id) modelsIds.add(id);
        }
      }
      if (part.type === 'text-delta' && part.text !== '') yield part.text;
      if (part.type === 'tool-call') {
        const { toolCallId, toolName, input } = part;
        // The package makes ids up too, for a call that has none and for the second one of an id.
        const tool_call_id = modelsIds.has(toolCallId) ? toolCallId : randomUUID();
        yield { tool_call_id, name: toolName, args: input };
      }
    }
  } catch (error) {
    throw asGatewayFailure(error, key);
  }
}

/** What the package does not tell of an event. */
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

/** The package wraps what it was thrown, and passes on what the gateway reports in an event. */
function asGatewayFailure(error: unknown, key: string): GatewayFailure {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof GatewayFailure) return at;
  }
  // So the package says that the stream ended without a reason to.
  if (InvalidResponseDataError.isInstance(error) && error.data === undefined) {
    return new GatewayFailure('unreachable', 'the stream ended early', { cause: error });
  }
  return embeddedFailure({ error }, key) ?? malformed('an event has another shape', error);
}
