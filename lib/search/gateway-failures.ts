import type { GatewayClient } from '../gateway/client.ts';
import type { KeyRing } from '../gateway/keys.ts';
import type { ResolveKeys } from '../gateway/registry.ts';
import { AppError, type ErrorCode } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';

/** The gateway as one search uses it. */
export interface CallersGateway {
  client: GatewayClient;
  log: Log;
  resolveKeys: ResolveKeys;
  signal: AbortSignal | undefined;
}

/** What the gateway gave, or why it gave nothing. */
export type GatewayAnswer<Value> =
  | { value: Value; failure: null; fatal: null }
  /** `fatal` is the failure of the caller's own key, which is the caller's to hear of. */
  | { value: null; failure: string; fatal: AppError | null };

/** Of a user's own key these go to the user; of the server's they only degrade (decisions 5, /search). */
const failuresOfOwnKey: ReadonlySet<ErrorCode> = new Set([
  'GATEWAY_KEY_INVALID',
  'GATEWAY_OUT_OF_CREDITS',
  'GATEWAY_RATE_LIMITED',
]);

/**
 * Asks the gateway with the caller's keys. A failure is answered, not thrown; throws only what is no
 * failure of the gateway: an abort, a database that is away, or a fault of ours.
 */
export async function askGateway<Value>(
  { log, resolveKeys }: CallersGateway,
  request: (keys: KeyRing) => Promise<Value>,
): Promise<GatewayAnswer<Value>> {
  let keys: KeyRing | null = null;
  try {
    keys = await resolveKeys();
    return { value: await request(keys), failure: null, fatal: null };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'SERVICE_UNAVAILABLE') throw error;
    log.debug('the gateway took no part in a search', { error });
    // Only a user's own key can be invalid.
    const isOwn = error.code === 'GATEWAY_KEY_INVALID' || keys?.source === 'user';
    const fatal = isOwn && failuresOfOwnKey.has(error.code) ? error : null;
    return { value: null, failure: error.message, fatal };
  }
}
