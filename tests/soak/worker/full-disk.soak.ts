import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type FinishedScript, runScript, startScript } from '../../support/script.ts';
import { createRandom } from '../crash/kill-repeatedly.ts';
import { seed, times } from '../size.ts';
import { changeRandomly } from './changes.ts';
import { makeSmallDisk, mayMount } from './small-disk.ts';
import { createWorld, type Keeping, untilQuiet, type World } from './world.ts';

// A worker runs out of space at a random point, while its source changes between runs.

const execute = promisify(execFile);

/** Rounds in each world; few, because every version of a repository is restored each time. */
const FULL = times(3, 10);
const LIMITED = times(2, 5);
const MAX_FILE_BYTES = 200_000;
/** Enough space for the worker to record that it is running. */
const MIN_BYTES = 16_384;
/** The increment of a small change is not much larger. */
const MIN_FILE_BYTES = 2_048;

const ways: [string, Keeping][] = [
  ['full bundles', { incrementsFrom: '64', keep: '7d all' }],
  ['increments', { incrementsFrom: '0', keep: '1 daily' }],
];

/** A run that can no longer write from some point on; `part`, from 0 to 1, decides where. */
type LimitedRun = (world: World, part: number) => Promise<FinishedScript>;

describe.runIf(await mayMount())('a worker with a full disk', () => {
  const cases = ways.flatMap(([name, keeping]) =>
    Array.from(
      { length: times(1, 2) },
      (_, n) => [`${name}, repository ${n + 1}`, keeping] as const,
    ),
  );
  it.each(cases)('reports it and loses no version: %s', async (name, keeping) => {
    const disk = await makeSmallDisk(64);
    onTestFinished(disk.remove);
    const world = await createWorld(keeping, disk.path);
    onTestFinished(world.close);
    await limitRepeatedly(`full disk: ${name}`, world, FULL, async ({ run }, part) => {
      await disk.leave(MIN_BYTES + part * (await disk.used()));
      const ended = await runScript('worker', run);
      await disk.free();
      return ended;
    });
  });
});

describe.runIf(process.platform === 'linux')('a worker that may not write large files', () => {
  it.each(ways)('reports it and loses no version: %s', async (name, keeping) => {
    const world = await createWorld(keeping);
    onTestFinished(world.close);
    await limitRepeatedly(`small files: ${name}`, world, LIMITED, async ({ run }, part) => {
      const worker = startScript('worker', run);
      const limit = MIN_FILE_BYTES + Math.round(part * MAX_FILE_BYTES);
      await execute('prlimit', ['--pid', `${worker.child.pid}`, `--fsize=${limit}`]);
      return worker.finished;
    });
  });
});

/** Repeats a limited run, restores all versions without another run, and then runs without limits. */
async function limitRepeatedly(
  name: string,
  world: World,
  faults: number,
  runLimited: LimitedRun,
): Promise<void> {
  const { ledger, run } = world;
  const random = createRandom(name);
  let failed = 0;
  for (let round = 0; round <= faults; round++) {
    // Points are more often early than late, because a run first writes what it fetched.
    const part = random() ** 2;
    try {
      await changeRandomly(world, random);
      // The first archive is made with enough space.
      if (round > 0) {
        const ended = await runLimited(world, part);
        await untilQuiet(world);
        if (ended.code !== 0) {
          failed++;
          expect(ended).toMatchObject({ code: 1 });
          // git does not give a reason for all of its failures.
          expect(ended.stdout + ended.stderr).toMatch(/1 failed|no space left/i);
        }
        await ledger.check();
      }
      const next = await runScript('worker', run);
      expect(next, next.stdout + next.stderr).toMatchObject({ code: 0 });
      await ledger.checkSettled();
    } catch (error) {
      const when = `round ${round}, ${part.toFixed(3)}`;
      throw new Error(`${name}: ${when}, --seed ${seed}: ${error}`, { cause: error });
    }
  }
  // Runs with enough space prove nothing.
  expect(failed).toBeGreaterThanOrEqual(1);
}
