import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { Turns } from '../../../lib/platform/http/turns.ts';

/** Turns by a clock that only work moves on, and what was begun so far. */
function createTurns() {
  let now = 0;
  const begun: number[] = [];
  const turns = new Turns(() => now);
  const take = (id: number, costMs: number) =>
    turns.take(() => {
      begun.push(id);
      now += costMs;
    });
  return { take, begun };
}

const upTo = (count: number) => Array.from({ length: count }, (_, id) => id);

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await nextTurn();
}

it('begins what comes at once while a turn has time left', () => {
  const { take, begun } = createTurns();
  for (const id of upTo(5)) take(id, 1);
  expect(begun).toEqual(upTo(5));
});

it('leaves the rest for later turns when its time is up, and loses none', async () => {
  const { take, begun } = createTurns();
  for (const id of upTo(300)) take(id, 4);
  expect(begun).toEqual([0, 1, 2]);
  let turns = 0;
  while (begun.length < 300) {
    await nextTurn();
    turns += 1;
  }
  expect(begun).toEqual(upTo(300));
  // Three fit into the time of one.
  expect(turns).toBeGreaterThanOrEqual(99);
});

it('begins many in one turn when they take no time', async () => {
  const { take, begun } = createTurns();
  take(0, 20);
  for (const id of upTo(100)) take(id + 1, 0);
  expect(begun).toEqual([0]);
  let turns = 0;
  while (begun.length < 101) {
    await nextTurn();
    turns += 1;
  }
  expect(turns).toBeLessThan(10);
});

it('begins what comes later behind those that wait', async () => {
  const { take, begun } = createTurns();
  for (const id of upTo(10)) take(id, 20);
  await nextTurn();
  take(10, 20);
  await until(() => begun.length === 11);
  expect(begun).toEqual(upTo(11));
});

it('lets what one begins go on before the next begins', async () => {
  const log: string[] = [];
  const work = async (id: number) => {
    log.push(`${id} begins`);
    await null;
    log.push(`${id} goes on`);
  };
  // The first takes the turn's time, so that the others wait.
  let now = 0;
  const busy = new Turns(() => now);
  busy.take(() => {
    now = 20;
  });
  for (const id of upTo(2)) busy.take(() => void work(id));
  await until(() => log.length === 4);
  expect(log).toEqual(['0 begins', '0 goes on', '1 begins', '1 goes on']);
});
