import { AppError } from '../platform/errors.ts';

/**
 * How a request to the gateway failed: the status it answered, `unreachable` for no answer in time, or
 * `malformed` for an answer that is not what was asked for. Its text is for logs.
 */
export class GatewayFailure extends Error {
  override readonly name = 'GatewayFailure';
  readonly outcome: number | 'unreachable' | 'malformed';
  /** Seconds that the gateway asks to wait, null when it does not say. */
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

/** Statuses that say something about the key, so that another one may do. (spec 2, Events) */
export const keyStatuses: ReadonlySet<unknown> = new Set([401, 402, 429]);

/**
 * What a failed request is to a client, by the codes of spec 2, Events and decisions 5. A 401 is
 * GATEWAY_ERROR here: what it means for a user's own key only the holder of the key knows.
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
    return new AppError('GATEWAY_BAD_REQUEST', 'the model gateway refused the request', options);
  }
  return new AppError('GATEWAY_ERROR', 'the model gateway failed', options);
}

/** No answer, a failing server or a timeout that the gateway reports. */
export function isUnavailable(outcome: GatewayFailure['outcome']): boolean {
  return outcome === 'unreachable' || outcome === 408 || Number(outcome) >= 500;
}

function isRefusedRequest(outcome: GatewayFailure['outcome']): boolean {
  return typeof outcome === 'number' && outcome >= 400 && outcome !== 401 && outcome !== 403;
}
