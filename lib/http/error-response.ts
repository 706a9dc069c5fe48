import type { Context } from 'hono';
import { HTTPException } from 'hono/http-exception';
import { AppError, type ErrorCode, errorCodes } from '../errors.ts';
import type { Log } from '../log/log.ts';
import type { HttpEnv } from './env.ts';

/** Codes whose body is the envelope; all others have `{error, request_id}`. */
const enveloped: ReadonlySet<ErrorCode> = new Set([
  'UNAUTHORIZED',
  'RATE_LIMITED',
  'INTERNAL_ERROR',
  'SERVICE_UNAVAILABLE',
  'CREDENTIAL_STORAGE_UNAVAILABLE',
]);

const RETRY_AFTER_SECONDS = '5';

/** An error as sent to the client. */
export interface ErrorResponse {
  status: (typeof errorCodes)[ErrorCode]['status'];
  headers: Record<string, string>;
  body: object;
}

/** Each surface has its own shape of error bodies. */
export type DescribeError = (error: AppError, requestId: string) => ErrorResponse;

/** The status and headers of an error, which are the same on every surface. */
export function describeErrorHead(error: AppError): Pick<ErrorResponse, 'status' | 'headers'> {
  const { status } = errorCodes[error.code];
  const headers: Record<string, string> =
    status === 503 ? { 'Retry-After': RETRY_AFTER_SECONDS, ...error.headers } : error.headers;
  return { status, headers };
}

/** The service API's response to an error. */
export function describeError(error: AppError, requestId: string): ErrorResponse {
  const { code, message, details } = error;
  const body = enveloped.has(code)
    ? { success: false, error: { code, message, request_id: requestId }, message }
    : { error: message, request_id: requestId, ...(details.length > 0 && { details }) };
  return { ...describeErrorHead(error), body };
}

/**
 * Responds with the error that ended a request. Anything but an AppError is logged with its cause and becomes
 * a 500 whose text holds only the request id.
 */
export function respondToError(
  thrown: unknown,
  c: Context<HttpEnv>,
  log: Log,
  describe: DescribeError = describeError,
): Response {
  const requestId = c.get('requestId');
  const error = asAppError(thrown, requestId);
  if (errorCodes[error.code].status >= 500) {
    const fields = {
      request_id: requestId,
      method: c.req.method,
      route: c.get('routePattern'),
      error: thrown,
    };
    if (error.code === 'INTERNAL_ERROR') log.error('a request failed', fields);
    else log.warn('a request could not be served', fields);
  }
  const { status, headers, body } = describe(error, requestId);
  return c.json(body, status, headers);
}

function asAppError(thrown: unknown, requestId: string): AppError {
  if (thrown instanceof AppError && thrown.code !== 'INTERNAL_ERROR') return thrown;
  // Thrown by Hono, for example for a body that is not JSON.
  if (thrown instanceof HTTPException && thrown.status < 500) {
    const code = Object.entries(errorCodes).find(([, { status }]) => status === thrown.status)?.[0];
    return new AppError(isErrorCode(code) ? code : 'BAD_REQUEST', thrown.message || 'bad request');
  }
  return new AppError('INTERNAL_ERROR', `internal error, request id ${requestId}`);
}

function isErrorCode(text: string | undefined): text is ErrorCode {
  return text !== undefined && Object.hasOwn(errorCodes, text);
}
