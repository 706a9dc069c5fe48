import { STATUS_CODES } from 'node:http';
import * as z from 'zod';
import { AppError, type ErrorCode } from '../errors.ts';
import { parseJson } from '../json.ts';
import { cleanText } from '../text/clean-text.ts';
import { readBoundedText } from './bounded-text.ts';
import { toOwnServer } from './own-server.ts';

const DEFAULT_TIMEOUT_MS = 15_000;
const MAX_BYTES = 32 * 2 ** 20;
const MAX_ERROR_BYTES = 64 * 2 ** 10;
const MAX_MESSAGE = 300;

/** Another service of this product, called with the internal secret. */
export interface InternalService {
  /** The name in error messages, such as `the service API`. */
  name: string;
  url: string;
  /** INTERNAL_SECRET. If undefined, requests are sent without it. */
  secret: string | undefined;
  fetch: typeof fetch;
  /** Timeout for the whole response. Default: 15 seconds. */
  timeoutMs?: number;
}

export interface InternalRequest {
  /** Appended to the service's URL. */
  path: string;
  /** Sent as JSON with POST. Undefined: a GET request. */
  body?: unknown;
  signal: AbortSignal;
}

export interface InternalResponse {
  status: number;
  text: string;
}

/**
 * Calls another service with X-Internal-Secret and reads its response, at most 32 MiB. Redirects are not
 * followed, because they could leak the secret. Throws ServiceResponseError for a status outside 2xx (NOT_FOUND
 * for 404, otherwise SERVICE_UNAVAILABLE), and AppError SERVICE_UNAVAILABLE if there is no response.
 */
export async function callInternalService(
  { name, url, secret, fetch, timeoutMs = DEFAULT_TIMEOUT_MS }: InternalService,
  { path, body, signal }: InternalRequest,
): Promise<InternalResponse> {
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}${path}`, {
      ...toOwnServer(url),
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        Accept: 'application/json',
        ...(secret === undefined ? {} : { 'X-Internal-Secret': secret }),
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    if (!response.ok) throw await responseError(name, response);
    return { status: response.status, text: await readBoundedText(response, MAX_BYTES) };
  } catch (error) {
    if (error instanceof AppError || signal.aborted) throw error;
    const isTimeout = error instanceof Error && error.name === 'TimeoutError';
    const problem = isTimeout
      ? `did not answer within ${timeoutMs / 1000} seconds`
      : 'did not answer';
    throw new AppError('SERVICE_UNAVAILABLE', `${name} ${problem}`, { cause: error });
  }
}

/** A response with a status outside 2xx. */
export class ServiceResponseError extends AppError {
  readonly status: number;

  constructor(code: ErrorCode, message: string, status: number) {
    super(code, message);
    this.status = status;
  }
}

/** The shapes of our services' error bodies. */
const errorBody = z.union([
  z.object({ error: z.object({ message: z.string() }) }).transform((body) => body.error.message),
  z.object({ error: z.string() }).transform((body) => body.error),
  z.object({ message: z.string() }).transform((body) => body.message),
]);

async function responseError(name: string, response: Response): Promise<AppError> {
  const { status } = response;
  const message = (await readErrorMessage(response)) ?? STATUS_CODES[status] ?? 'no reason given';
  const code = status === 404 ? 'NOT_FOUND' : 'SERVICE_UNAVAILABLE';
  const text = `${name} answered ${status}: ${cleanText(message, MAX_MESSAGE)}`;
  return new ServiceResponseError(code, text, status);
}

/** Null if the body is too large, truncated or not one of our shapes. */
async function readErrorMessage(response: Response): Promise<string | null> {
  const text = await readBoundedText(response, MAX_ERROR_BYTES).catch(() => null);
  const parsed = errorBody.safeParse(text === null ? null : parseJson(text));
  return parsed.success ? parsed.data : null;
}
