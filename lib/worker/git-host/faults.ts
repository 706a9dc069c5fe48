import { RequestError } from '@octokit/request-error';
import { ZodError } from 'zod';
import { AppError } from '../../errors.ts';
import { cleanText } from '../../text/clean-text.ts';

/**
 * Describes a failed request to the git host in one line. The error is not kept as the cause: it holds the
 * request, with tokens and codes.
 */
export function explainHostFault(error: unknown, host: string): AppError {
  if (error instanceof AppError) return error;
  const { host: name } = new URL(host);
  if (error instanceof ZodError) {
    return unavailable(`${name} gave an answer that is not understood`);
  }
  if (error instanceof RequestError && error.response !== undefined) {
    // The answer to a POST may repeat its codes and refresh tokens.
    const said = error.request.method === 'GET' ? `: ${cleanText(error.message, 200)}` : '';
    return unavailable(`${name} answered ${error.status}${said}`);
  }
  return unavailable(`${name} does not answer: ${cleanText(reasonOf(error), 200)}`);
}

/** May a request succeed later? After no or a foreign answer, a failure of the host, too many requests. */
export function isTransient(error: unknown): boolean {
  if (error instanceof ZodError) return true;
  if (!(error instanceof RequestError)) return isNoAnswer(error);
  return error.response === undefined || error.status >= 500 || error.status === 429;
}

/** Seconds that the host asks us to wait; null if it does not say. */
export function retryAfterOf(error: unknown): number | null {
  if (!(error instanceof RequestError)) return null;
  const seconds = Number(error.response?.headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : null;
}

function isNoAnswer(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error instanceof TypeError);
}

/** The innermost reason: `fetch failed` alone does not help. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  if (error instanceof AggregateError && error.errors[0]) return reasonOf(error.errors[0]);
  return error.message || error.name;
}

function unavailable(message: string): AppError {
  return new AppError('SERVICE_UNAVAILABLE', message);
}
