import * as z from 'zod';
import { flag, list, seconds, secureUrl } from './values.ts';

/** A key must be a valid header value. */
const key = z.string().regex(/^[\x21-\x7e]{1,512}$/, 'must be a list of keys without spaces');

/** The model gateway: any OpenAI-compatible API. */
export const gatewayVariables = z.object({
  GATEWAY_BASE_URL: secureUrl
    .default('https://openrouter.ai/api/v1')
    .transform((address) => address.replace(/\/+$/, ''))
    .describe('base URL of the model gateway (any OpenAI-compatible API)'),
  GATEWAY_AUTH_URL: secureUrl
    .optional()
    .describe(
      'endpoint that exchanges an authorization code for a key; default `<GATEWAY_BASE_URL>/auth/keys`',
    ),
  GATEWAY_AUTHORIZE_URL: secureUrl
    .default('https://openrouter.ai/auth')
    .describe('the page on which a user authorizes a key'),
  GATEWAY_MODEL: z.string().optional().describe('the default chat model'),
  GATEWAY_API_KEYS: list
    .pipe(z.array(key))
    .default([])
    .describe('comma-separated API keys of the server, tried in order'),
  GATEWAY_ALLOW_SERVER_KEYS: flag(true).describe(
    "whether users without their own key may use the server's",
  ),
  GATEWAY_REQUEST_TIMEOUT_SECONDS: seconds(3_600)
    .default(30)
    .describe('timeout of requests to the gateway, in seconds'),
  CREDENTIALS_ENCRYPTION_KEY: z
    .string()
    .refine(isKeyList, 'must be 32 bytes, base64 or hex')
    .optional()
    .describe("encrypts users' gateway keys: 32 bytes, base64 or hex; `new,old` during a rotation"),
});

export type GatewayConfig = z.output<typeof gatewayVariables>;

/** One or more keys of 32 bytes in hex or base64, the newest first. */
function isKeyList(text: string): boolean {
  return text.split(',').every((key) => /^([0-9a-f]{64}|[\w+/-]{43}=?)$/i.test(key.trim()));
}
