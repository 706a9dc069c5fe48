import { randomUUID } from 'node:crypto';
import type { Redis } from '@upstash/redis';
import { type OutageMemory, outageState } from './outage-memory.ts';

const KEY = 'backup:database-away';
const LOCK_KEY = 'backup:database-away-lock';
/** Longer than the day after which an outage is alerted, and so written, again. */
const KEEP_SECONDS = 7 * 86_400;
/** Longer than all channels need for a message. */
const LOCK_MS = 60_000;

/** Keeps the memory in Redis, for a server without a disk. */
export function rememberInRedis(redis: Redis): OutageMemory {
  return {
    read: async () => outageState.safeParse(await redis.get<unknown>(KEY)).data ?? null,
    async write(state) {
      await redis.set(KEY, state, { ex: KEEP_SECONDS });
    },
    async exclusively(work) {
      const holder = randomUUID();
      if ((await redis.set(LOCK_KEY, holder, { nx: true, px: LOCK_MS })) === null) return;
      try {
        await work();
      } finally {
        if ((await redis.get(LOCK_KEY)) === holder) await redis.del(LOCK_KEY);
      }
    },
  };
}
