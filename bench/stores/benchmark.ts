import { parseArgs } from 'node:util';
import { times } from '../share.ts';
import { measureLargeObject } from './large.ts';
import { measureSmallArchives } from './small.ts';
import { withStore } from './world.ts';

/**
 * `npm run bench -- stores [--mebibytes 1024] [--archives 10000] [--rounds 3]`: measures a large encrypted file to and
 * from an S3-compatible store, and counts the requests for many small archives.
 */
export async function runStoresBenchmark(options: string[]): Promise<void> {
  const { values } = parseArgs({
    args: options,
    options: {
      mebibytes: { type: 'string', default: String(times(1024)) },
      archives: { type: 'string', default: String(times(10_000)) },
      rounds: { type: 'string', default: String(times(3)) },
    },
  });
  const [mebibytes, count, rounds] = [values.mebibytes, values.archives, values.rounds].map(Number);
  if (!mebibytes || !count || !rounds) throw new Error('options must be numbers of at least 1');
  await withStore(async (world) => {
    await measureLargeObject(world, { mebibytes, rounds });
    await measureSmallArchives(world, { count });
  });
}
