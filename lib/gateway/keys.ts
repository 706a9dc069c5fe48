import { AppError } from '../errors.ts';
import { GatewayFailure, keyStatuses, translateFailure } from './gateway-failure.ts';

/**
 * The keys that a caller's requests may use. `use` runs a request with a key, fails over to the next key if
 * there is one, and translates failures to AppErrors.
 */
export interface KeyRing {
  source: 'user' | 'server';
  use<Value>(request: (key: string) => Promise<Value>): Promise<Value>;
}

/** Events of a user's own key. */
export interface UserKeyEvents {
  /** The gateway accepted the key. */
  used(): void;
  /** The gateway rejected the key with 401: it is invalid until the user reconnects. */
  refused(): Promise<void>;
}

/** The error for a user's key that the gateway has rejected. */
export function keyInvalid(cause?: unknown): AppError {
  const message = 'the model gateway refused your key: connect it again';
  return new AppError('GATEWAY_KEY_INVALID', message, cause === undefined ? {} : { cause });
}

/** A user's own key, without failover. */
export function createUserKeyRing(key: string, events: UserKeyEvents): KeyRing {
  let isRefused = false;
  return {
    source: 'user',
    async use(request) {
      if (isRefused) throw keyInvalid();
      try {
        const value = await request(key);
        events.used();
        return value;
      } catch (error) {
        if (!(error instanceof GatewayFailure)) throw error;
        if (error.outcome !== 401) throw translateFailure(error);
        isRefused = true;
        await events.refused();
        throw keyInvalid(error);
      }
    },
  };
}

/**
 * The server's key pool: a request fails over to the next key on 401, 402 and 429. The next request starts
 * with the key that worked last.
 */
export function createServerKeyRing(keys: readonly string[]): KeyRing {
  let first = 0;
  return {
    source: 'server',
    async use(request) {
      const refusals: GatewayFailure[] = [];
      const start = first;
      for (let tried = 0; tried < keys.length; tried += 1) {
        const at = (start + tried) % keys.length;
        try {
          const value = await request(keys[at] ?? '');
          first = at;
          return value;
        } catch (error) {
          if (!(error instanceof GatewayFailure)) throw error;
          if (!keyStatuses.has(error.outcome)) throw translateFailure(error);
          refusals.push(error);
        }
      }
      throw explainRefusals(refusals);
    },
  };
}

/** Picks the most temporary of several failures: rate limit, then credits, then invalid key. */
function explainRefusals(refusals: readonly GatewayFailure[]): AppError {
  const reason = [429, 402, 401]
    .map((status) => refusals.find(({ outcome }) => outcome === status))
    .find((refusal) => refusal !== undefined);
  return reason ? translateFailure(reason) : gatewayNotConfigured();
}

/** The error for a caller without a key who may not use the server's. */
export function gatewayNotConfigured(): AppError {
  return new AppError(
    'GATEWAY_NOT_CONFIGURED',
    'no key for the model gateway: connect one, or ask the operator to set GATEWAY_API_KEYS',
  );
}
