import { z } from 'zod';
import { within } from '../platform/within.ts';
import { GatewayFailure, translateFailure } from './failure.ts';
import type { KeyRing } from './keys.ts';
import {
  embeddedFailure,
  type GatewayHandles,
  type GatewayRequest,
  type GatewayTransport,
  readJson,
} from './transport.ts';

/** One streamed request of `/chat/completions`. */
export interface ChatStreamRequest {
  /** As OpenAI's, `stream: true`. */
  body: unknown;
  keys: KeyRing;
  signal: AbortSignal;
  /** Hears each id that the model gives to a call of a tool. */
  onCallId(id: string): void;
}

/** Opens streams of the gateway's chat models. */
export interface ChatStreams {
  /**
   * Resolves with the event stream when its first event is there: until then it fails over between keys
   * (spec 2, Events). Throws the AppErrors of spec 2, Events, or the signal's reason; reading the body
   * throws the same.
   */
  open(request: ChatStreamRequest): Promise<Response>;
}

/** No event of a chat model is as long as this. */
const MAX_LINE_CHARACTERS = 4 * 1024 * 1024;
/** Nor is an answer, with all that goes around its tokens: some 50,000 of them. */
const MAX_STREAM_CHARACTERS = 16 * 1024 * 1024;
/** An answer that is no stream is a refusal, which is short. */
const MAX_WHOLE_BYTES = 64 * 1024;
const END = '[DONE]';

export interface ChatStreamHandles extends Pick<GatewayHandles, 'config' | 'clock'> {
  transport: GatewayTransport;
}

/**
 * Streams through `transport`. The time of GATEWAY_REQUEST_TIMEOUT_SECONDS starts anew with whatever the
 * gateway sends: an answer may take longer, a silence may not.
 */
export function createChatStreams({ transport, clock, config }: ChatStreamHandles): ChatStreams {
  const silenceMs = config.GATEWAY_REQUEST_TIMEOUT_SECONDS * 1000;

  /** The data of each event. Throws for an error in one, a silence and an early end. */
  async function* readEvents(
    response: Response,
    request: GatewayRequest,
    onCallId: (id: string) => void,
  ): AsyncGenerator<string> {
    let isFinished = false;
    try {
      for await (const line of readLines(response, (read) => within(silenceMs, read, clock))) {
        if (!line.startsWith('data:')) continue;
        const data = line.slice('data:'.length).trim();
        if (data === END) return yield data;
        const { finishes, callIds } = readEvent(data, request);
        if (finishes) isFinished = true;
        for (const id of callIds) onCallId(id);
        yield data;
      }
    } catch (error) {
      // An answer that has said its reason to end is whole, however its connection ends.
      if (!isFinished || asGatewayFailure(error).outcome !== 'unreachable') throw error;
    }
    if (!isFinished) throw new GatewayFailure('unreachable', 'the stream ended early');
  }

  async function begin(key: string, { body, signal, onCallId }: ChatStreamRequest) {
    const to = '/chat/completions';
    const request: GatewayRequest = { method: 'POST', to, key, body, signal };
    const response = await transport.open(request);
    const events = readEvents(response, request, onCallId);
    try {
      if (response.headers.get('content-type')?.startsWith('application/json')) {
        const whole = await within(silenceMs, readJson(response, MAX_WHOLE_BYTES), clock);
        throw embeddedFailure(whole, request.key) ?? malformed('the answer is not a stream');
      }
      return { events, first: await events.next() };
    } catch (error) {
      signal.throwIfAborted();
      throw asGatewayFailure(error);
    }
  }

  return {
    async open(request) {
      const { keys, signal } = request;
      const { events, first } = await keys.use((key) => begin(key, request));
      async function* encode() {
        const encoder = new TextEncoder();
        try {
          if (first.done) return;
          yield encoder.encode(`data: ${first.value}\n\n`);
          for await (const data of events) yield encoder.encode(`data: ${data}\n\n`);
        } catch (error) {
          signal.throwIfAborted();
          throw await explainLate(asGatewayFailure(error), keys);
        } finally {
          await events.return(undefined);
        }
      }
      return new Response(ReadableStream.from(encode()), {
        headers: { 'Content-Type': 'text/event-stream' },
      });
    },
  };
}

/** Too late for another key; a user's own that is refused now is marked as one refused at the start. */
async function explainLate(failure: GatewayFailure, keys: KeyRing): Promise<unknown> {
  if (keys.source === 'server' || failure.outcome !== 401) return translateFailure(failure);
  return keys.use(() => Promise.reject(failure)).catch((error: unknown) => error);
}

function asGatewayFailure(error: unknown): GatewayFailure {
  if (error instanceof GatewayFailure) return error;
  return new GatewayFailure('unreachable', 'the stream broke off', { cause: error });
}

async function* readLines(
  response: Response,
  limit: <Value>(read: Promise<Value>) => Promise<Value>,
): AsyncGenerator<string> {
  const reader = response.body?.getReader();
  if (!reader) throw malformed('the answer has no body');
  const decoder = new TextDecoder();
  let rest = '';
  let characters = 0;
  try {
    for (;;) {
      const { value, done } = await limit(reader.read());
      const text = done ? decoder.decode() : decoder.decode(value, { stream: true });
      rest += text;
      characters += text.length;
      if (characters > MAX_STREAM_CHARACTERS) throw malformed('the stream is too long');
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = done ? '' : (lines.pop() ?? '');
      if (rest.length > MAX_LINE_CHARACTERS) {
        throw malformed('an event of the stream is too long');
      }
      yield* lines;
      if (done) return;
    }
  } finally {
    // Nobody reads on: the gateway need not go on either. A stream that broke has nothing to end.
    await reader.cancel().catch(() => undefined);
  }
}

const chunk = z.object({
  choices: z
    .array(
      z.object({
        finish_reason: z.string().nullish(),
        delta: z
          .object({ tool_calls: z.array(z.object({ id: z.string().nullish() })).nullish() })
          .nullish(),
      }),
    )
    .nullish(),
});

/** What is to be known of an event. Throws GatewayFailure for an error and for another shape. */
function readEvent(
  data: string,
  request: GatewayRequest,
): { finishes: boolean; callIds: string[] } {
  const value = parseJson(data);
  const failure = embeddedFailure(value, request.key);
  if (failure) throw failure;
  if (typeof value === 'object' && value !== null && Reflect.get(value, 'error')) {
    throw malformed('the gateway reported an error without a code');
  }
  const parsed = chunk.safeParse(value);
  if (!parsed.success) throw malformed('an event has another shape', parsed.error);
  const choices = parsed.data.choices ?? [];
  const calls = choices.flatMap(({ delta }) => delta?.tool_calls ?? []);
  return {
    finishes: choices.some(({ finish_reason }) => finish_reason),
    callIds: calls.flatMap(({ id }) => id ?? []),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw malformed('an event is not JSON', cause);
  }
}

function malformed(message: string, cause?: unknown): GatewayFailure {
  return new GatewayFailure('malformed', message, { cause });
}
