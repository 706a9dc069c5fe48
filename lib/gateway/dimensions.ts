import type { Redis } from '@upstash/redis';
import QuickLRU from 'quick-lru';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { warnOccasionally } from '../platform/occasional-log.ts';
import type { GatewayClient } from './client.ts';
import type { KeyRing } from './keys.ts';

/** Finds out how long the vectors of a model are whose list entry does not say. */
export interface DimensionsLearner {
  /**
   * Known from an earlier answer, or learnt by embedding one word with `keys`; then kept. Throws what
   * the request throws.
   */
  learn(model: string, keys: () => Promise<KeyRing>): Promise<number>;
}

interface LearnerHandles {
  client: GatewayClient;
  redis: Redis | null;
  log: Log;
  clock: Clock;
}

const REDIS_KEY = 'backup:gateway:dimensions';
/** More models than a gateway offers for free. */
const MAX_KNOWN = 1_000;

/** Keeps what it learns in the process, and in Redis when it is there. (decisions 5) */
export function createDimensionsLearner({
  client,
  redis,
  log,
  clock,
}: LearnerHandles): DimensionsLearner {
  const known = new QuickLRU<string, number>({ maxSize: MAX_KNOWN });
  const warn = warnOccasionally({ log, clock }, 60_000);

  async function recall(model: string): Promise<number | null> {
    try {
      return known.get(model) ?? (Number(await redis?.hget(REDIS_KEY, model)) || null);
    } catch (error) {
      warn('Redis does not answer: the dimensions of a model are learnt again', { error });
      return null;
    }
  }

  async function keep(model: string, dimensions: number): Promise<void> {
    try {
      await redis?.hset(REDIS_KEY, { [model]: dimensions });
    } catch (error) {
      warn('Redis does not answer: the dimensions of a model stay in this process', { error });
    }
  }

  return {
    async learn(model, keys) {
      const recalled = await recall(model);
      if (recalled !== null) {
        known.set(model, recalled);
        return recalled;
      }
      const texts = ['dimensions'];
      const [vector = []] = await client.embedTexts({ model, texts, keys: await keys() });
      known.set(model, vector.length);
      await keep(model, vector.length);
      return vector.length;
    },
  };
}
