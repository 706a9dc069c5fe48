import * as z from 'zod';
import { ConfigError } from './read.ts';
import { flag, list, MIN_SECRET_LENGTH, network, wholeNumber } from './values.ts';

/** Access control and client identification of the HTTP surfaces. */
export const httpVariables = z.object({
  API_REQUIRE_AUTH: flag(true).describe(
    'false: all routes except changes, archives and /api/cron/* need no secret; a warning is logged',
  ),
  INTERNAL_SECRET: z
    .string()
    .optional()
    .describe('secret of all internal paths, at least 32 characters'),
  TRUSTED_PROXIES: list
    .pipe(z.array(network))
    .default([])
    .describe('comma-separated IPs or CIDRs of trusted proxies'),
  TRUST_PROXY_HEADER: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, 'must be a header name')
    .default('X-Forwarded-For')
    .describe('the header in which a trusted proxy sends the client address'),
  MAX_WAITING_QUERIES: wholeNumber(1, 100_000)
    .default(250)
    .describe('requests get 503 while more queries than this wait for the database'),
});

export type HttpConfig = z.output<typeof httpVariables>;

/** Throws ConfigError if INTERNAL_SECRET is required and too short. */
export function rejectShortSecret({ API_REQUIRE_AUTH, INTERNAL_SECRET = '' }: HttpConfig): void {
  if (!API_REQUIRE_AUTH || INTERNAL_SECRET.length >= MIN_SECRET_LENGTH) return;
  throw new ConfigError(
    `INTERNAL_SECRET must have at least ${MIN_SECRET_LENGTH} characters while API_REQUIRE_AUTH is true`,
  );
}
