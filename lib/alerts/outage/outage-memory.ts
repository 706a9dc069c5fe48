import { mkdir, readFile, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Redis } from '@upstash/redis';
import * as z from 'zod';
import { replaceFile } from '../../durable-files.ts';
import { nullIfMissing } from '../../files.ts';
import { parseJson } from '../../json.ts';

const outageState = z.object({
  /** When the database was first found to be away. */
  since: z.iso.datetime(),
  /** When the message was made that is sent, once to each channel. */
  at: z.iso.datetime(),
  /** Channels that an earlier message of this outage has reached, or may have. */
  told: z.array(z.string()).default([]),
  channels: z.record(
    z.string(),
    z.object({ delivered: z.iso.datetime().nullable(), attempts: z.int(), unclear: z.int() }),
  ),
});

/** An outage of the database, and whom it was told. */
export type OutageState = z.output<typeof outageState>;

/** Keeps what was told of an outage while the database, which has the incidents, is away. */
export interface OutageMemory {
  /** Null if there is none or it is not valid. The alert is then sent again, which is better than never. */
  read(): Promise<OutageState | null>;
  write(state: OutageState): Promise<void>;
  clear(): Promise<void>;
}

/** In a file in DATA_DIR, which the worker and the server of a machine share. */
export function rememberInFolder(dataFolder: string): OutageMemory {
  const path = join(dataFolder, 'alerts', 'database-away.json');
  return {
    async read() {
      const text = await nullIfMissing(readFile(path, 'utf8'));
      return text === null ? null : (outageState.safeParse(parseJson(text)).data ?? null);
    },
    async write(state) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      await replaceFile(path, `${JSON.stringify(state)}\n`);
    },
    clear: () => rm(path, { force: true }),
  };
}

const KEY = 'backup:database-away';
/** Longer than the day after which an outage is told, and so written, again. */
const KEEP_SECONDS = 7 * 86_400;

/** In Redis, for a server without a disk. */
export function rememberInRedis(redis: Redis): OutageMemory {
  return {
    read: async () => outageState.safeParse(await redis.get<unknown>(KEY)).data ?? null,
    async write(state) {
      await redis.set(KEY, state, { ex: KEEP_SECONDS });
    },
    async clear() {
      await redis.del(KEY);
    },
  };
}
