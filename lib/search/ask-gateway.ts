import { AppError, type ErrorCode } from '../errors.ts';
import type { GatewayClient } from '../gateway/client.ts';
import type { KeyRing } from '../gateway/keys.ts';
import type { ResolveKeys } from '../gateway/model-registry.ts';
import type { Log } from '../log/log.ts';

/** The gateway with the caller's keys and signal. */
export interface CallerGateway {
  client: GatewayClient;
  log: Log;
  resolveKeys: ResolveKeys;
  signal: AbortSignal | undefined;
}

/** The gateway's response, or why there is none. */
export type GatewayAnswer<Value> =
  | { value: Value; failure: null; fatal: null }
  /** `fatal` is set when the caller's own key failed, which must be reported to the caller. */
  | { value: null; failure: string; fatal: AppError | null };

/** With a user's own key these errors are reported; with the server's keys the search only degrades. */
const failuresOfOwnKey: ReadonlySet<ErrorCode> = new Set([
  'GATEWAY_KEY_INVALID',
  'GATEWAY_OUT_OF_CREDITS',
  'GATEWAY_RATE_LIMITED',
]);

/**
 * Asks the gateway with the caller's keys. Returns failures of the gateway; throws anything else, such as an
 * abort or an unavailable database.
 */
export async function askGateway<Value>(
  { log, resolveKeys }: CallerGateway,
  request: (keys: KeyRing) => Promise<Value>,
): Promise<GatewayAnswer<Value>> {
  let keys: KeyRing | null = null;
  try {
    keys = await resolveKeys();
    return { value: await request(keys), failure: null, fatal: null };
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'SERVICE_UNAVAILABLE') throw error;
    log.debug('a search continues without the gateway', { error });
    // Only a user's own key can be invalid.
    const isOwn = error.code === 'GATEWAY_KEY_INVALID' || keys?.source === 'user';
    const fatal = isOwn && failuresOfOwnKey.has(error.code) ? error : null;
    return { value: null, failure: error.message, fatal };
  }
}
