import * as z from 'zod';
import { password, seconds, secret, wholeNumber } from './values.ts';

/** Who may log in to the observatory and how its tokens are made. */
export const identityVariables = z.object({
  AUTH_USERNAME: z.string().optional().describe('a user of the observatory; made: admin'),
  AUTH_PASSWORD: password
    .optional()
    .describe('the password of AUTH_USERNAME, at least 12 characters'),
  JWT_SECRET: secret.optional().describe('signs access tokens, at least 32 characters'),
  JWT_ISSUER: z.string().default('backup').describe('issuer of access tokens'),
  JWT_AUDIENCE: z.string().default('backup').describe('audience of access tokens'),
  JWT_EXPIRES_MINUTES: wholeNumber(1, 525_600)
    .default(720)
    .describe('minutes for which an access token is valid'),
  USER_MAX_REQUESTS_PER_MINUTE: wholeNumber(1, 1_000_000)
    .default(600)
    .describe('requests a minute of a user with a token, from all addresses together'),
  LOGIN_MAX_FAILURES: wholeNumber(1, 1_000)
    .default(5)
    .describe('failed logins of one address after which it is locked out'),
  LOGIN_FAILURE_WINDOW_SECONDS: seconds(86_400)
    .default(300)
    .describe('seconds from the first failed login until they are forgotten'),
});

/** `identityVariables` as they were read. */
export type IdentityConfig = z.output<typeof identityVariables>;
