import { RequestError } from '@octokit/request-error';
import { ZodError } from 'zod';
import { AppError } from '../../errors.ts';
import { cleanText } from '../../text/clean-text.ts';

/**
 * Describes a failed request to the git host in one line. The error is not kept as the cause: it holds the
 * request, with tokens and codes.
 */
export function explainHostError(error: unknown, host: string): AppError {
  if (error instanceof AppError) return error;
  const { host: name } = new URL(host);
  if (error instanceof ZodError) {
    return unavailable(`${name} sent an unexpected response`);
  }
  if (error instanceof RequestError && error.response !== undefined) {
    // The response to a POST may repeat codes and refresh tokens.
    const detail = error.request.method === 'GET' ? `: ${cleanText(error.message, 200)}` : '';
    return unavailable(`${name} answered ${error.status}${detail}`);
  }
  return unavailable(`${name} does not answer: ${cleanText(reasonOf(error), 200)}`);
}

/** Whether a retry may succeed: after no or an unexpected response, a failure of the host, or too many requests. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ZodError) return true;
  if (!(error instanceof RequestError)) return isNoResponse(error);
  return error.response === undefined || error.status >= 500 || error.status === 429;
}

/** Whether the host rejects the token itself, or there is none, regardless of the request. */
export function isLoginRefused(error: unknown): boolean {
  if (error instanceof AppError) return error.code === 'UNAUTHORIZED';
  return error instanceof RequestError && error.status === 401;
}

/** Seconds of Retry-After; null without one. */
export function retryAfterOf(error: unknown): number | null {
  if (!(error instanceof RequestError)) return null;
  const seconds = Number(error.response?.headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : null;
}

function isNoResponse(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error instanceof TypeError);
}

/** The innermost message: `fetch failed` alone does not help. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  if (error instanceof AggregateError && error.errors[0]) return reasonOf(error.errors[0]);
  return error.message || error.name;
}

function unavailable(message: string): AppError {
  return new AppError('SERVICE_UNAVAILABLE', message);
}
