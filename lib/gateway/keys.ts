import { AppError } from '../platform/errors.ts';
import { GatewayFailure, keyStatuses, translateFailure } from './failure.ts';

/**
 * The key, or keys, that one caller's requests may use. `use` runs a request with a key and turns its
 * failure into an AppError of spec 2, Events; it also fails over, where there is something to fail over to.
 */
export interface KeyRing {
  source: 'user' | 'server';
  use<Value>(request: (key: string) => Promise<Value>): Promise<Value>;
}

/** What the ring of a user's own key reports back. */
export interface UserKeyEvents {
  /** The gateway took the key. */
  used(): void;
  /** The gateway refused it with 401: it is invalid until the user reconnects. */
  refused(): Promise<void>;
}

/** The error of a key that the gateway has refused (spec 2, Authentication). */
export function keyInvalid(cause?: unknown): AppError {
  const message = 'the model gateway refused your key: connect it again';
  return new AppError('GATEWAY_KEY_INVALID', message, cause === undefined ? {} : { cause });
}

/** A user's own key: it never falls back to another. */
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
 * The server's pool, which all its rings share: a request moves on to the next key on 401, 402 and 429,
 * and the next request starts with the key that worked last.
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

/** Of several reasons the one that passes soonest: a rate, then credits, then wrong keys. */
function explainRefusals(refusals: readonly GatewayFailure[]): AppError {
  const reason = [429, 402, 401]
    .map((status) => refusals.find(({ outcome }) => outcome === status))
    .find((refusal) => refusal !== undefined);
  return reason ? translateFailure(reason) : notConfigured();
}

/** The error of a caller who has no key and may use none of the server's. */
export function notConfigured(): AppError {
  return new AppError(
    'GATEWAY_NOT_CONFIGURED',
    'no key for the model gateway: connect one, or let the operator set GATEWAY_API_KEYS',
  );
}
