import { z } from 'zod';
import { flag, list, network, wholeNumber } from './values.ts';

/** Access to the HTTP surfaces and who their clients are (spec 1, Authentication and Limits). */
export const httpVariables = z.object({
  API_REQUIRE_AUTH: flag(true).describe(
    'false opens every route but /api/cron/*; a warning is logged',
  ),
  INTERNAL_SECRET: z
    .string()
    .optional()
    .describe('secret of every internal path, at least 32 characters'),
  TRUSTED_PROXIES: list
    .pipe(z.array(network))
    .default([])
    .describe('comma-separated IPs or CIDRs whose forwarded header is believed'),
  TRUST_PROXY_HEADER: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, 'must be a header name')
    .default('X-Forwarded-For')
    .describe('the header that a trusted proxy sets'),
  MAX_WAITING_QUERIES: wholeNumber(1, 100_000)
    .default(250)
    .describe('requests are answered 503 while more queries than this wait for the database'),
});

/** `httpVariables` as they were read. */
export type HttpConfig = z.output<typeof httpVariables>;

/** The shortest INTERNAL_SECRET that is taken (spec 1, Authentication 5). */
export const INTERNAL_SECRET_MIN_LENGTH = 32;
