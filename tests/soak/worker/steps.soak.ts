import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runScript } from '../../support/script.ts';
import { createLanes, createRandom } from '../crash/kill-repeatedly.ts';
import { isLong, seed } from '../size.ts';
import { changeRandomly } from './changes.ts';
import { createWorld, type Keeping, untilQuiet, type World } from './world.ts';

// A worker is killed between two changes to its files, which random moments seldom hit: with --long at each of them,
// otherwise at some.

const KILLS = 3;

const ways: [string, Keeping][] = [
  ['full bundles', { incrementsFrom: '64', keep: '7d all' }],
  ['increments', { incrementsFrom: '0', keep: '7d all' }],
  ['increments of which few versions are kept', { incrementsFrom: '0', keep: '1 daily' }],
];
const inTurn = createLanes();

describe.concurrent('a worker that is killed between two changes of its files', () => {
  it.each(ways)('loses no version: %s', (name, keeping) =>
    inTurn(async () => {
      const world = await createWorld(keeping);
      try {
        await killAtSteps(`steps: ${name}`, world);
      } finally {
        await world.close();
      }
    }),
  );
});

async function killAtSteps(name: string, world: World): Promise<void> {
  const { ledger, run } = world;
  const random = createRandom(name);
  const runUntil = async (step: number) => {
    await changeRandomly(world, random);
    const NODE_OPTIONS = `--import=${join(import.meta.dirname, 'kill-at-step.ts')}`;
    const env = {
      ...run.env,
      NODE_OPTIONS,
      KILL_FOLDER: world.run.env.BACKUP_ARCHIVE_PATH ?? '',
      KILL_AT: `${step}`,
    };
    const ended = await runScript('worker', { ...run, env });
    const [, steps] = /^steps (\d+)$/m.exec(ended.stderr) ?? [];
    return { ended, steps: steps === undefined ? null : Number(steps) };
  };
  // The first run makes the archive. The second has the same steps as the later ones, as far as they are alike.
  await runUntil(-1);
  const { ended, steps } = await runUntil(-1);
  expect(ended, ended.stderr).toMatchObject({ code: 0 });
  const all = Array.from({ length: steps ?? 0 }, (_, step) => step);
  const chosen = isLong ? all : all.sort(() => random() - 0.5).slice(0, KILLS);
  for (const step of chosen) {
    try {
      const { ended, steps } = await runUntil(step);
      if (steps !== null) expect(ended, ended.stderr).toMatchObject({ code: 0 });
      await untilQuiet(world);
      await ledger.check();
      const next = await runScript('worker', run);
      expect(next, next.stdout + next.stderr).toMatchObject({ code: 0 });
      await ledger.checkSettled();
    } catch (error) {
      throw new Error(`${name}: step ${step}, --seed ${seed}: ${error}`, { cause: error });
    }
  }
}
