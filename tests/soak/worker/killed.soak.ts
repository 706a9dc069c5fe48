import { describe, expect, it } from 'vitest';
import { runScript, startScript } from '../../support/script.ts';
import { createLanes, createRandom, killRepeatedly } from '../crash/kill-repeatedly.ts';
import { untilAlone } from '../crash/until-alone.ts';
import { times } from '../size.ts';
import { changeRandomly } from './changes.ts';
import { createWorld, type Keeping, untilQuiet } from './world.ts';

// A worker is killed at random moments, while its source changes between runs.

const KILLS = 10;
/** Worlds, each with its own repository; few, because every version is restored after every kill. */
const WORLDS = times(1, 7);

const ways: [string, Keeping][] = [
  ['full bundles', { incrementsFrom: '64', keep: '7d all' }],
  ['increments', { incrementsFrom: '0', keep: '7d all' }],
  ['increments of which few versions are kept', { incrementsFrom: '0', keep: '1 daily' }],
];
const cases = ways.flatMap(([name, keeping]) =>
  Array.from({ length: WORLDS }, (_, n) => [`${name}, repository ${n + 1}`, keeping] as const),
);
const inTurn = createLanes();

describe.concurrent(`a worker that is killed ${cases.length * KILLS} times`, () => {
  it.each(cases)('loses no version: %s', (name, keeping) =>
    inTurn(async () => {
      const world = await createWorld(keeping);
      try {
        await kill(name, world);
      } finally {
        await world.close();
      }
    }),
  );
});

async function kill(name: string, world: Awaited<ReturnType<typeof createWorld>>) {
  const { ledger, run } = world;
  const { db } = world.database;
  const random = createRandom(`changes: ${name}`);
  const begin = async () => {
    await changeRandomly(world, random);
    const worker = startScript('worker', run);
    await worker.waitFor(/run \d+ started/);
    return worker;
  };
  const check = async () => {
    await untilQuiet(world);
    await untilAlone(db);
    await ledger.check();
    const next = await runScript('worker', run);
    expect(next, next.stdout + next.stderr).toMatchObject({ code: 0 });
    await ledger.checkSettled();
  };
  await killRepeatedly(name, { begin, check }, KILLS);
}
