import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import * as z from 'zod';
import { within } from '../async.ts';
import type { Clock } from '../clock.ts';
import type { GatewayConfig } from '../config/gateway.ts';
import type { Deps } from '../http/deps.ts';
import { createRedactor } from '../security/redaction/redactor.ts';
import { GatewayFailure, malformed } from './gateway-failure.ts';

/** One request to the gateway. */
export interface GatewayRequest {
  method: 'GET' | 'POST';
  /** A path such as `/models`, a URL below GATEWAY_BASE_URL, or GATEWAY_AUTH_URL itself. */
  to: string;
  /** The bearer token; null for a request without one. */
  key: string | null;
  /** Sent as JSON. */
  body?: unknown;
  /** Secrets in the body, redacted from the log along with the key in case the gateway echoes them. */
  secrets?: readonly string[];
  signal?: AbortSignal | undefined;
  /** Timeout for the whole response. Default: GATEWAY_REQUEST_TIMEOUT_SECONDS. */
  timeoutMs?: number;
  /** Maximum size of the response. Default 4 MiB. */
  maxBytes?: number;
}

/** A response that is read while it arrives. */
export interface GatewayStream {
  headers: Headers;
  chunks: AsyncIterable<Uint8Array>;
}

/** Sends requests to the gateway, without retries. Throws GatewayFailure, or the signal's reason. */
export interface GatewayTransport {
  /** GATEWAY_BASE_URL. */
  baseUrl: string;
  /** Sends a request and returns the parsed JSON of a 2xx answer. */
  requestJson(request: GatewayRequest): Promise<unknown>;
  /**
   * Returns a 2xx response as soon as its headers have arrived. Its chunks fail with a GatewayFailure when the
   * gateway is silent for GATEWAY_REQUEST_TIMEOUT_SECONDS, disconnects or sends more than 64 MiB. Who stops
   * reading them disconnects.
   */
  openStream(request: GatewayRequest): Promise<GatewayStream>;
}

const DEFAULT_MAX_BYTES = 4 * 1024 * 1024;
/** Fits a long chat response with its protocol overhead. */
const MAX_STREAM_BYTES = 64 * 1024 * 1024;
/** How much of an error response is read for the log. */
const MAX_REFUSAL_BYTES = 8 * 1024;
const MAX_RETRY_AFTER_SECONDS = 3_600;

/** The dependencies of the transport. */
export type GatewayDeps = Pick<Deps<GatewayConfig>, 'config' | 'fetch' | 'clock'>;

/**
 * Sends requests to GATEWAY_BASE_URL and GATEWAY_AUTH_URL only. Redirects are failures, so that neither keys
 * nor texts can be sent elsewhere.
 */
export function createGatewayTransport({ config, fetch, clock }: GatewayDeps): GatewayTransport {
  const defaultTimeoutMs = config.GATEWAY_REQUEST_TIMEOUT_SECONDS * 1000;
  const isOwnAddress = (to: string) =>
    to.startsWith('/') ||
    to.startsWith(`${config.GATEWAY_BASE_URL}/`) ||
    to === gatewayAuthUrl(config);

  async function send(request: GatewayRequest, signal: AbortSignal): Promise<Response> {
    const { method, to, key, body } = request;
    if (!isOwnAddress(to)) throw new Error("a request to an address other than the gateway's");
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

  const inTime = <Value>(request: GatewayRequest, work: (signal: AbortSignal) => Promise<Value>) =>
    withTimeout(request.timeoutMs ?? defaultTimeoutMs, clock, request.signal, work);

  return {
    baseUrl: config.GATEWAY_BASE_URL,
    requestJson: (request) =>
      inTime(request, async (signal) => {
        const response = await send(request, signal);
        const value = await readJson(response, request.maxBytes ?? DEFAULT_MAX_BYTES);
        const failure = embeddedFailure(value, request.key, request.secrets);
        if (failure) throw failure;
        return value;
      }),
    async openStream(request) {
      const response = await inTime(request, (signal) => send(request, signal));
      if (response.headers.get('content-type')?.startsWith('application/json')) {
        const refusal = await inTime(request, () => readJson(response, MAX_REFUSAL_BYTES));
        throw embeddedFailure(refusal, request.key) ?? malformed('the answer is not a stream');
      }
      const read = <Value>(reading: Promise<Value>) => within(defaultTimeoutMs, reading, clock);
      return { headers: response.headers, chunks: readChunks(response, read) };
    },
  };
}

async function* readChunks(
  response: Response,
  read: <Value>(reading: Promise<Value>) => Promise<Value>,
): AsyncGenerator<Uint8Array> {
  const reader = response.body?.getReader();
  let bytes = 0;
  try {
    while (reader) {
      const { value, done } = await read(reader.read());
      if (done) return;
      bytes += value.byteLength;
      if (bytes > MAX_STREAM_BYTES) throw malformed('the stream is too long');
      yield value;
    }
  } catch (cause) {
    // A stream that fails drops what it holds: let the chunks that have already arrived be read first.
    await yieldToEventLoop();
    if (cause instanceof GatewayFailure) throw cause;
    throw new GatewayFailure('unreachable', 'the stream broke off', { cause });
  } finally {
    // Lets the gateway stop. Fails for a broken stream, which needs no cancellation.
    await reader?.cancel().catch(() => undefined);
  }
}

/** The URL that exchanges a code for a key. */
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
    () => undefined, // answered in time
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

/** Parses the body. Throws GatewayFailure `malformed` when it is not JSON or larger than `maxBytes`. */
async function readJson(response: Response, maxBytes: number): Promise<unknown> {
  const text = await readText(response, maxBytes);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw malformed('the answer is not JSON', cause);
  }
}

/** Throws GatewayFailure `malformed` as soon as the body is larger than `maxBytes`. */
async function readText(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let [text, bytes] = ['', 0];
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) {
      throw malformed(`the answer is larger than ${maxBytes} bytes`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/**
 * Shortens an error message of the gateway for the log, and redacts the secrets of the request: some gateways
 * echo them, and they need not have a known form.
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

/** The failure inside a 200 response: some gateways report a failed model that way. */
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
