import { STATUS_CODES } from 'node:http';
import * as z from 'zod';
import { AppError, type ErrorCode } from '../errors.ts';
import { parseJson } from '../json.ts';
import { cleanText } from '../text/clean-text.ts';
import { readBoundedText } from './bounded-text.ts';

const DEFAULT_TIMEOUT_MS = 15_000;
const MAX_BYTES = 32 * 2 ** 20;
const MAX_ERROR_BYTES = 64 * 2 ** 10;
const MAX_MESSAGE = 300;

/** Another service of the product, called with the internal secret. */
export interface InternalService {
  /** As messages call it: `the service API`. */
  name: string;
  url: string;
  /** INTERNAL_SECRET; undefined calls without one. */
  secret: string | undefined;
  fetch: typeof fetch;
  /** Longest wait for a whole answer. Default 15 seconds. */
  timeoutMs?: number;
}

export interface InternalRequest {
  /** From the service's address on. */
  path: string;
  /** Sent as JSON with POST; a GET without it. */
  body?: unknown;
  signal: AbortSignal;
}

/** An answer with a 2xx status. */
export interface InternalAnswer {
  status: number;
  text: string;
}

/**
 * Calls a service of the product with X-Internal-Secret and reads its answer, at most 32 MiB. Redirects are not followed: they could carry the secret elsewhere. Throws AppError naming
 * status and message for an answer outside 2xx (NOT_FOUND for 404, else SERVICE_UNAVAILABLE), and
 * SERVICE_UNAVAILABLE when there is no answer.
 */
export async function callInternalService(
  { name, url, secret, fetch, timeoutMs = DEFAULT_TIMEOUT_MS }: InternalService,
  { path, body, signal }: InternalRequest,
): Promise<InternalAnswer> {
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}${path}`, {
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
    if (!response.ok) throw await refusal(name, response);
    return { status: response.status, text: await readBoundedText(response, MAX_BYTES) };
  } catch (error) {
    if (error instanceof AppError || signal.aborted) throw error;
    const isLate = error instanceof Error && error.name === 'TimeoutError';
    const fault = isLate ? `did not answer within ${timeoutMs / 1000} seconds` : 'did not answer';
    throw new AppError('SERVICE_UNAVAILABLE', `${name} ${fault}`, { cause: error });
  }
}

/** A service's answer outside 2xx. */
export class ServiceRefusal extends AppError {
  /** The HTTP status that it answered with. */
  readonly status: number;

  constructor(code: ErrorCode, message: string, status: number) {
    super(code, message);
    this.status = status;
  }
}

/** The bodies in which services of the product say what is wrong. */
const errorBody = z.union([
  z.object({ error: z.object({ message: z.string() }) }).transform((body) => body.error.message),
  z.object({ error: z.string() }).transform((body) => body.error),
  z.object({ message: z.string() }).transform((body) => body.message),
]);

async function refusal(name: string, response: Response): Promise<AppError> {
  const { status } = response;
  const message = (await readErrorMessage(response)) ?? STATUS_CODES[status] ?? 'no reason given';
  const code = status === 404 ? 'NOT_FOUND' : 'SERVICE_UNAVAILABLE';
  const text = `${name} answered ${status}: ${cleanText(message, MAX_MESSAGE)}`;
  return new ServiceRefusal(code, text, status);
}

/** Null when the body is too long, broken off or no error body of ours. */
async function readErrorMessage(response: Response): Promise<string | null> {
  const text = await readBoundedText(response, MAX_ERROR_BYTES).catch(() => null);
  const parsed = errorBody.safeParse(text === null ? null : parseJson(text));
  return parsed.success ? parsed.data : null;
}
