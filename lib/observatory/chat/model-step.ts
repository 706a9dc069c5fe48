import { randomUUID } from 'node:crypto';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { AISDKError, jsonSchema, type ModelMessage, streamText, type ToolSet, tool } from 'ai';
import { z } from 'zod';
import type { ChatStreams } from '../../gateway/chat-stream.ts';
import type { KeyRing } from '../../gateway/keys.ts';
import { AppError } from '../../platform/errors.ts';
import { linkSignal } from '../../platform/linked-signal.ts';
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
 * Asks the model once and streams its text. Throws the AppErrors of spec 2, Events, or the signal's reason.
 * Nothing is tried again here: failing over between keys is the gateway's part.
 */
export async function askModel(streams: ChatStreams, step: ModelStep): Promise<ModelAnswer> {
  const { model, keys, instructions, messages, mayCallTools, onText } = step;
  const { signal, release, abort } = linkSignal(step.signal);
  const modelsIds = new Set<string>();
  const provider = createOpenAICompatible({
    name: 'gateway',
    // The gateway's own transport knows the address; this one is never asked.
    baseURL: 'http://gateway.invalid',
    fetch: (_address, init) =>
      streams.open({
        body: JSON.parse(String(init?.body)),
        keys,
        signal,
        onCallId: (id) => modelsIds.add(id),
      }),
  });
  const answer: ModelAnswer = { text: '', calls: [] };
  try {
    const { stream } = streamText({
      model: provider(model),
      instructions,
      messages,
      tools: offered,
      toolChoice: mayCallTools ? 'auto' : 'none',
      maxRetries: 0,
      abortSignal: signal,
      // They are thrown below; by default they would be printed.
      onError: () => undefined,
    });
    for await (const part of stream) {
      if (part.type === 'error') throw part.error;
      if (part.type === 'text-delta' && part.text !== '') {
        answer.text += part.text;
        await onText(part.text);
      }
      if (part.type === 'tool-call') {
        const { toolCallId, toolName, input } = part;
        // The package makes ids up too, for a call that has none and for the second one of an id.
        const tool_call_id = modelsIds.has(toolCallId) ? toolCallId : randomUUID();
        answer.calls.push({ tool_call_id, name: toolName, args: input });
      }
    }
  } catch (error) {
    signal.throwIfAborted();
    // What is left of the answer is not wanted.
    abort(error);
    throw translate(error);
  } finally {
    release();
  }
  signal.throwIfAborted();
  return answer;
}

/** The package wraps what it was thrown in errors of its own. */
function translate(error: unknown): unknown {
  for (let at = error; at instanceof Error; at = at.cause) if (at instanceof AppError) return at;
  if (!AISDKError.isInstance(error)) return error;
  return new AppError('GATEWAY_ERROR', 'the model gateway failed', { cause: error });
}
