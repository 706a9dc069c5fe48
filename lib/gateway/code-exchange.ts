import * as z from 'zod';
import { AppError } from '../errors.ts';
import { GatewayFailure, isUnavailable } from './gateway-failure.ts';
import type { GatewayTransport } from './transport.ts';

/** The result of the gateway's authorization page (PKCE). */
export interface Exchange {
  code: string;
  /** 43 to 128 characters; the page received its S256 challenge. */
  codeVerifier: string;
}

/** A key that is a valid header value. */
const issued = z.object({ key: z.string().regex(/^[\x21-\x7e]{1,512}$/) });

/**
 * Exchanges a code for a key at `authUrl`. Throws GATEWAY_EXCHANGE_FAILED when the gateway rejects the code,
 * GATEWAY_EXCHANGE_UNAVAILABLE when it is unreachable, fails or returns no key.
 */
export async function exchangeCode(
  transport: GatewayTransport,
  authUrl: string,
  { code, codeVerifier }: Exchange,
): Promise<string> {
  try {
    const answer = await transport.requestJson({
      method: 'POST',
      to: authUrl,
      key: null,
      body: { code, code_verifier: codeVerifier, code_challenge_method: 'S256' },
      secrets: [code, codeVerifier],
      maxBytes: 64 * 1024,
    });
    return issued.parse(answer).key;
  } catch (cause) {
    if (cause instanceof GatewayFailure && isRefusal(cause)) {
      throw new AppError('GATEWAY_EXCHANGE_FAILED', 'the model gateway refused the code', {
        cause,
      });
    }
    if (!(cause instanceof GatewayFailure || cause instanceof z.ZodError)) throw cause;
    throw new AppError('GATEWAY_EXCHANGE_UNAVAILABLE', 'the model gateway gave no key', {
      cause: cause instanceof GatewayFailure ? cause : new Error('the answer has no usable key'),
    });
  }
}

/** Does this status reject the code? Any 4xx, unless it means that the gateway is busy. */
function isRefusal({ outcome }: GatewayFailure): boolean {
  return (
    typeof outcome === 'number' && outcome >= 400 && outcome !== 429 && !isUnavailable(outcome)
  );
}
