import * as z from 'zod';
import { secureUrl } from './values.ts';

/** Redis over REST, shared by several processes. */
export const redisVariables = z.object({
  UPSTASH_REDIS_REST_URL: secureUrl
    .optional()
    .describe('Redis over REST (also read as KV_REST_API_URL). Unset: in-process store'),
  UPSTASH_REDIS_REST_TOKEN: z
    .string()
    .optional()
    .describe('its token (also read as KV_REST_API_TOKEN)'),
});

/** `redisVariables` as they were read. */
export type RedisConfig = z.output<typeof redisVariables>;
