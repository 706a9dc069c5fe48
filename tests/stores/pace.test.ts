import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { parseStoreAddress } from '../../lib/config/stores/store-address.ts';
import { createPace } from '../../lib/stores/base/pace.ts';
import { openStores } from '../../lib/stores/open-stores.ts';
import { createTestClock } from '../support/clock.ts';
import { useSharedFolder } from '../support/folders.ts';
import { useS3Server } from '../support/s3-server.ts';
import { bytesOf, makeFile } from '../support/store-objects.ts';

const folder = useSharedFolder();
const server = useS3Server();
const PART = 8 * 2 ** 20;

it('a limit lets bytes pass at its rate on average, in the order in which they came', async () => {
  const clock = createTestClock();
  const pace = createPace(1_000, clock, new AbortController().signal);
  const passed: string[] = [];
  const send = (name: string, bytes: number) => pace(bytes).then(() => passed.push(name));
  const all = [send('first', 2_000), send('second', 500), send('third', 1)];
  await vi.waitFor(() => expect(passed).toEqual(['first']));
  clock.advance(1_999);
  expect(clock.sleepers()).toBe(2);
  clock.advance(1);
  await vi.waitFor(() => expect(passed).toEqual(['first', 'second']));
  clock.advance(499);
  expect(clock.sleepers()).toBe(1);
  clock.advance(1);
  await Promise.all(all);
  expect(passed).toEqual(['first', 'second', 'third']);
  // What was not used is not saved up.
  clock.advance(60_000);
  await pace(1_000);
  const last = pace(1);
  expect(clock.sleepers()).toBe(1);
  clock.advance(1_000);
  await last;
});

it('waiting for a limit ends with the signal', async () => {
  const [clock, controller] = [createTestClock(), new AbortController()];
  const pace = createPace(1, clock, controller.signal);
  await pace(1_000);
  const waiting = pace(1);
  controller.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
});

it('all stores share one limit, for what they send and what they read', async () => {
  const clock = createTestClock();
  await mkdir(join(folder, 'nas'));
  const addresses = [server.address('paced'), `file://${join(folder, 'nas')}`];
  const stores = await openStores(addresses.map(parseStoreAddress), {
    environment: {},
    ...{ folder: join(folder, 'known'), bytesPerSecond: PART, clock },
    ...{ signal: new AbortController().signal, onRemark: () => undefined },
  });
  const [bucket, nas] = stores.map(({ objects }) => objects);
  if (bucket === undefined || nas === undefined) throw new Error('there are two stores');
  const small = await makeFile(folder, PART / 2);
  const large = await makeFile(folder, 2 * PART);
  /** Moves time on while it waits. Returns for how many seconds of the limit. */
  const secondsOf = async (work: Promise<unknown>) => {
    const began = clock.now();
    let isDone = false;
    const done = work.finally(() => {
      isDone = true;
    });
    while (!isDone) {
      if (clock.sleepers() > 0) clock.advance(125);
      await new Promise(setImmediate);
    }
    await done;
    return (clock.now() - began) / 1_000;
  };
  // Bytes that pass make the next ones wait.
  expect(await secondsOf(bucket.create('small', small))).toBe(0);
  expect(await secondsOf(nas.create('small', small))).toBeGreaterThanOrEqual(0.5);
  expect(await secondsOf(bucket.create('large', large))).toBeGreaterThanOrEqual(1);
  expect(await secondsOf(bytesOf(nas, 'small'))).toBeGreaterThanOrEqual(1);
  expect(await secondsOf(bytesOf(bucket, 'large'))).toBeGreaterThanOrEqual(1.75);
});
