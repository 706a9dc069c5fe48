import { AppError } from '../errors.ts';

/**
 * A failed gateway request: the response status, `unreachable` for no response in time, or `malformed` for an
 * unexpected response. The message is for logs.
 */
export class GatewayFailure extends Error {
  override readonly name = 'GatewayFailure';
  readonly outcome: number | 'unreachable' | 'malformed';
  /** Seconds from the Retry-After header; null without one. */
  readonly retryAfter: number | null;

  constructor(
    outcome: GatewayFailure['outcome'],
    message: string,
    options: { cause?: unknown; retryAfter?: number | null } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.outcome = outcome;
    this.retryAfter = options.retryAfter ?? null;
  }
}

/** The failure for an unexpected response. */
export function malformed(message: string, cause?: unknown): GatewayFailure {
  return new GatewayFailure('malformed', message, { cause });
}

/** Statuses that depend on the key, so that another key may succeed. */
export const keyStatuses: ReadonlySet<unknown> = new Set([401, 402, 429]);

/**
 * Maps a failure to the error for clients. A 401 becomes GATEWAY_ERROR: only `keys.ts` knows whether it was
 * for a user's own key.
 */
export function translateFailure(failure: GatewayFailure): AppError {
  const { outcome } = failure;
  const options = { cause: failure };
  if (outcome === 402) {
    return new AppError('GATEWAY_OUT_OF_CREDITS', 'the model gateway is out of credits', options);
  }
  if (outcome === 429) {
    const { retryAfter } = failure;
    return new AppError('GATEWAY_RATE_LIMITED', 'the model gateway limits the rate of requests', {
      ...options,
      ...(retryAfter === null ? {} : { headers: { 'Retry-After': String(retryAfter) } }),
    });
  }
  if (isUnavailable(outcome)) {
    return new AppError('GATEWAY_UNAVAILABLE', 'the model gateway does not answer', options);
  }
  if (isRefusedRequest(outcome)) {
    return new AppError('GATEWAY_BAD_REQUEST', 'the model gateway rejected the request', options);
  }
  return new AppError('GATEWAY_ERROR', 'the model gateway failed', options);
}

/** Did the gateway not answer, report a timeout or fail with a 5xx status? */
export function isUnavailable(outcome: GatewayFailure['outcome']): boolean {
  return outcome === 'unreachable' || outcome === 408 || Number(outcome) >= 500;
}

function isRefusedRequest(outcome: GatewayFailure['outcome']): boolean {
  return typeof outcome === 'number' && outcome >= 400 && outcome !== 401 && outcome !== 403;
}
