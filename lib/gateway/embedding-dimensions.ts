import type { Redis } from '@upstash/redis';
import QuickLRU from 'quick-lru';
import type { Clock } from '../clock.ts';
import type { Log } from '../log/log.ts';
import { createRedisFallback } from '../rate-limits/redis-fallback.ts';
import type { GatewayClient } from './client.ts';
import type { KeyRing } from './keys.ts';

/** Finds the vector dimensions of models whose list entry lacks them. */
export interface DimensionsLookup {
  /**
   * Returns the cached dimensions, or embeds one word with `keys` to find and cache them. Throws what the
   * request throws.
   */
  find(model: string, keys: () => Promise<KeyRing>): Promise<number>;
}

interface LookupDeps {
  client: GatewayClient;
  redis: Redis | null;
  log: Log;
  clock: Clock;
}

const REDIS_KEY = 'backup:gateway:dimensions';
const MAX_KNOWN_MODELS = 1_000;

/** Creates a lookup that caches in the process and, when configured, in Redis. */
export function createDimensionsLookup({
  client,
  redis,
  log,
  clock,
}: LookupDeps): DimensionsLookup {
  const known = new QuickLRU<string, number>({ maxSize: MAX_KNOWN_MODELS });
  const fallback = createRedisFallback(
    { log, clock },
    'Redis does not answer: caching model dimensions in this process only',
  );

  const recall = (model: string) =>
    fallback.run(
      async () => Number(await redis?.hget(REDIS_KEY, model)) || null,
      async () => null,
    );

  return {
    async find(model, keys) {
      const recalled = known.get(model) ?? (await recall(model));
      if (recalled !== null) {
        known.set(model, recalled);
        return recalled;
      }
      const texts = ['dimensions'];
      const [vector = []] = await client.embedTexts({ model, texts, keys: await keys() });
      known.set(model, vector.length);
      await redis?.hset(REDIS_KEY, { [model]: vector.length }).catch(fallback.pause);
      return vector.length;
    },
  };
}
