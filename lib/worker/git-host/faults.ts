import { RequestError } from '@octokit/request-error';
import { ZodError } from 'zod';
import { cleanText } from '../../platform/clean-text.ts';
import { AppError } from '../../platform/errors.ts';
import { UnreadableAnswer } from './oauth.ts';

/**
 * A failed request to the git host as one line for a person. The error itself is no cause of it: it
 * holds the request, and with it tokens and codes.
 */
export function explainHostFault(error: unknown, host: string): AppError {
  if (error instanceof AppError) return error;
  const { host: name } = new URL(host);
  if (error instanceof ZodError || error instanceof UnreadableAnswer) {
    return unavailable(`${name} gave an answer that is not understood`);
  }
  if (error instanceof RequestError && error.response !== undefined) {
    // What is posted holds codes and refresh tokens, which the answer may repeat.
    const said = error.request.method === 'GET' ? `: ${cleanText(error.message, 200)}` : '';
    return unavailable(`${name} answered ${error.status}${said}`);
  }
  return unavailable(`${name} does not answer: ${cleanText(reasonOf(error), 200)}`);
}

/** True when a request may succeed later: no answer or a foreign one, a fault of the host, too many requests. */
export function isPassing(error: unknown): boolean {
  if (error instanceof UnreadableAnswer) return true;
  if (!(error instanceof RequestError)) return isNoAnswer(error);
  return error.response === undefined || error.status >= 500 || error.status === 429;
}

/** Seconds that the host asks to be left alone for; null when it does not say. */
export function retryAfterOf(error: unknown): number | null {
  if (!(error instanceof RequestError)) return null;
  const seconds = Number(error.response?.headers['retry-after']);
  return Number.isFinite(seconds) && seconds > 0 ? seconds : null;
}

function isNoAnswer(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error instanceof TypeError);
}

/** The innermost reason: `fetch failed` alone helps nobody. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause instanceof Error) return reasonOf(error.cause);
  if (error instanceof AggregateError && error.errors[0]) return reasonOf(error.errors[0]);
  return error.message || error.name;
}

function unavailable(message: string): AppError {
  return new AppError('SERVICE_UNAVAILABLE', message);
}
