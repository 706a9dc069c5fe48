import * as z from 'zod';
import { password, seconds, secret, wholeNumber } from './values.ts';

/** Logins and access tokens of the observatory. */
export const identityVariables = z.object({
  AUTH_USERNAME: z.string().optional().describe('a user of the observatory; generated: admin'),
  AUTH_PASSWORD: password
    .optional()
    .describe('the password of AUTH_USERNAME, at least 12 characters'),
  JWT_SECRET: secret.optional().describe('signs access tokens, at least 32 characters'),
  JWT_ISSUER: z.string().default('backup').describe('issuer of access tokens'),
  JWT_AUDIENCE: z.string().default('backup').describe('audience of access tokens'),
  JWT_EXPIRES_MINUTES: wholeNumber(1, 525_600)
    .default(720)
    .describe('lifetime of an access token, in minutes'),
  USER_MAX_REQUESTS_PER_MINUTE: wholeNumber(1, 1_000_000)
    .default(600)
    .describe('requests per minute of a user with a token, from all addresses'),
  LOGIN_MAX_FAILURES: wholeNumber(1, 1_000)
    .default(5)
    .describe('failed logins after which an address is locked out'),
  LOGIN_FAILURE_WINDOW_SECONDS: seconds(86_400)
    .default(300)
    .describe('seconds after the first failed login until the count is reset'),
});

export type IdentityConfig = z.output<typeof identityVariables>;
