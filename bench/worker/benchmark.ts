import { parseArgs } from 'node:util';
import { share, times } from '../share.ts';
import { measureLarge } from './large.ts';
import { measureSmall } from './small.ts';
import { withWorld } from './world.ts';

const parts = ['large', 'small'];

/**
 * `npm run bench -- worker [large] [small] [--scale 0.1] [--rounds 1]`: compares the worker process with plain git
 * doing the same work, alternating: a large repository in a folder, and many small ones on a git host with 100 ms
 * latency. Linux only, because it reads the number of bytes written.
 */
export async function runWorkerBenchmark(options: string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: options,
    options: { rounds: { type: 'string', default: String(times(3)) } },
    allowPositionals: true,
  });
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds must be at least 1');
  const unknown = positionals.find((part) => !parts.includes(part));
  if (unknown !== undefined) throw new Error(`${unknown} is not one of ${parts.join(', ')}`);
  const asked = new Set(positionals.length === 0 ? parts : positionals);
  await withWorld(async (world) => {
    if (asked.has('large')) await measureLarge(world, { scale: share, rounds });
    if (asked.has('small')) await measureSmall(world, { scale: share, rounds });
  });
}
