import { z } from 'zod';
import type { Clock } from '../platform/clock.ts';
import type { GatewayConfig } from '../platform/config/gateway.ts';
import type { Deps } from '../platform/deps.ts';
import { createRedactor } from '../platform/redaction.ts';
import { GatewayFailure } from './failure.ts';

/** One request to the gateway. */
export interface GatewayRequest {
  method: 'GET' | 'POST';
  /** A path below GATEWAY_BASE_URL, such as `/models`, or GATEWAY_AUTH_URL itself. */
  to: string;
  /** The bearer token; null for a request without one. */
  key: string | null;
  /** Sent as JSON. */
  body?: unknown;
  /** What in the body must not reach the log when the gateway repeats it. The key never does. */
  secrets?: readonly string[];
  signal?: AbortSignal | undefined;
  /** Longest wait for the whole answer. Default: GATEWAY_REQUEST_TIMEOUT_SECONDS. */
  timeoutMs?: number;
  /** Largest answer that is read. Default 4 MiB. */
  maxBytes?: number;
}

/** Requests to the gateway, each made once. Throws GatewayFailure, or the signal's reason. */
export interface GatewayTransport {
  /** Sends a request and returns the parsed JSON of a 2xx answer. */
  requestJson(request: GatewayRequest): Promise<unknown>;
  /** The same, but returns as soon as the head of a 2xx answer is there: for streams. */
  open(request: GatewayRequest): Promise<Response>;
}

const DEFAULT_MAX_BYTES = 4 * 1024 * 1024;
/** How much of a refusal is read for the log. */
const MAX_REFUSAL_BYTES = 8 * 1024;
const MAX_RETRY_AFTER_SECONDS = 3_600;

/** The handles that the gateway's parts share. */
export type GatewayHandles = Pick<Deps<GatewayConfig>, 'config' | 'fetch' | 'clock'>;

/**
 * Talks to GATEWAY_BASE_URL and GATEWAY_AUTH_URL and to nothing else: a redirect is a failure, so that
 * neither a key nor a text goes where the gateway points.
 */
export function createGatewayTransport({ config, fetch, clock }: GatewayHandles): GatewayTransport {
  const defaultTimeoutMs = config.GATEWAY_REQUEST_TIMEOUT_SECONDS * 1000;
  const isOwnAddress = (to: string) => to.startsWith('/') || to === gatewayAuthUrl(config);

  async function send(request: GatewayRequest, signal: AbortSignal): Promise<Response> {
    const { method, to, key, body } = request;
    if (!isOwnAddress(to)) throw new Error('a request to an address that is not the gateway');
    const response = await fetch(to.startsWith('/') ? `${config.GATEWAY_BASE_URL}${to}` : to, {
      method,
      redirect: 'manual',
      signal,
      headers: {
        Accept: 'application/json, text/event-stream',
        ...(key === null ? {} : { Authorization: `Bearer ${key}` }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw await readRefusal(response, request);
    return response;
  }

  const within = <Value>(request: GatewayRequest, work: (signal: AbortSignal) => Promise<Value>) =>
    withTimeout(request.timeoutMs ?? defaultTimeoutMs, clock, request.signal, work);

  return {
    requestJson: (request) =>
      within(request, async (signal) => {
        const response = await send(request, signal);
        const value = await readJson(response, request.maxBytes ?? DEFAULT_MAX_BYTES);
        const failure = embeddedFailure(value, request.key, request.secrets);
        if (failure) throw failure;
        return value;
      }),
    open: (request) => within(request, (signal) => send(request, signal)),
  };
}

/** Where a code becomes a key (decisions 2, GATEWAY_AUTH_URL). */
export function gatewayAuthUrl(config: GatewayConfig): string {
  return config.GATEWAY_AUTH_URL ?? `${config.GATEWAY_BASE_URL}/auth/keys`;
}

async function withTimeout<Value>(
  timeoutMs: number,
  clock: Clock,
  caller: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  caller?.throwIfAborted();
  const expired = new AbortController();
  const done = new AbortController();
  clock.sleep(timeoutMs, done.signal).then(
    () => expired.abort(new GatewayFailure('unreachable', `no answer within ${timeoutMs} ms`)),
    () => undefined, // the answer came first
  );
  try {
    return await work(AbortSignal.any(caller ? [expired.signal, caller] : [expired.signal]));
  } catch (cause) {
    if (caller?.aborted) throw caller.reason;
    if (expired.signal.aborted) throw expired.signal.reason;
    if (cause instanceof GatewayFailure) throw cause;
    throw new GatewayFailure('unreachable', 'the connection to the gateway failed', { cause });
  } finally {
    done.abort();
  }
}

/** The parsed body. Throws GatewayFailure `malformed` for one that is no JSON or larger than `maxBytes`. */
export async function readJson(response: Response, maxBytes: number): Promise<unknown> {
  const text = await readText(response, maxBytes);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new GatewayFailure('malformed', 'the answer is not JSON', { cause });
  }
}

/** Throws GatewayFailure `malformed` as soon as the body is larger than `maxBytes`. */
async function readText(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) {
      throw new GatewayFailure('malformed', `the answer is larger than ${maxBytes} bytes`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/**
 * What the gateway says of a refusal goes to the log, and nowhere else: shortened, and without the key
 * and other secrets of the request, which some gateways repeat and which need not have a known form.
 */
function forLog(said: string, key: string | null, secrets: readonly string[] = []): string {
  return createRedactor(key === null ? secrets : [key, ...secrets])
    .text(said)
    .slice(0, 500);
}

async function readRefusal(response: Response, request: GatewayRequest): Promise<GatewayFailure> {
  let said: string;
  try {
    said = await readText(response, MAX_REFUSAL_BYTES);
  } catch {
    said = '(the text could not be read)';
  }
  const message = `the gateway answered ${response.status}: ${forLog(said, request.key, request.secrets)}`;
  const wait = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfter = wait >= 1 && wait <= MAX_RETRY_AFTER_SECONDS ? Math.ceil(wait) : null;
  return new GatewayFailure(response.status, message, { retryAfter });
}

const errorInside = z.object({
  error: z.object({ code: z.unknown().optional(), message: z.string().optional() }),
});

/** Some gateways answer 200 and put the failure of the model behind them into the body. */
export function embeddedFailure(
  value: unknown,
  key: string | null,
  secrets?: readonly string[],
): GatewayFailure | null {
  const found = errorInside.safeParse(value).data?.error;
  if (!found) return null;
  const code = Number(found.code);
  const message = `the gateway reported: ${forLog(found.message ?? '', key, secrets)}`;
  return new GatewayFailure(code >= 400 && code <= 599 ? code : 'malformed', message);
}
