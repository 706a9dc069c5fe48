import * as z from 'zod';
import { secureUrl } from './values.ts';

/** Redis over REST, shared by several processes. */
export const redisVariables = z.object({
  UPSTASH_REDIS_REST_URL: secureUrl
    .optional()
    .describe('Redis over REST (or KV_REST_API_URL). Unset: state is kept in the process'),
  UPSTASH_REDIS_REST_TOKEN: z
    .string()
    .optional()
    .describe('token of Redis over REST (or KV_REST_API_TOKEN)'),
});

export type RedisConfig = z.output<typeof redisVariables>;
