import { expect, it } from 'vitest';
import { createLog } from '../../lib/log/log.ts';
import { endInTime, MAX_ENDING_MS } from '../../lib/processes/end-in-time.ts';
import { createTestClock } from '../support/clock.ts';

function start() {
  const clock = createTestClock();
  const logged: { level: string; message: string; part?: string }[] = [];
  return { clock, logged, log: createLog('debug', clock, (line) => logged.push(JSON.parse(line))) };
}

it('waits for every part, and logs nothing if all end', async () => {
  const { clock, log, logged } = start();
  const slow = Promise.withResolvers<void>();
  const ended = endInTime(
    { slow: slow.promise, quick: Promise.resolve(), none: undefined },
    { clock, log },
  );
  await clock.advance(MAX_ENDING_MS - 1);
  slow.resolve();
  await ended;
  expect(logged).toEqual([]);
});

it('abandons a part that does not end, and names it', async () => {
  const { clock, log, logged } = start();
  const never = new Promise<void>(() => undefined);
  const ended = endInTime({ requests: never, streams: Promise.resolve() }, { clock, log });
  await clock.advance(MAX_ENDING_MS);
  await ended;
  expect(logged).toMatchObject([{ level: 'error', part: 'requests' }]);
});

it('throws what a part throws', async () => {
  const { clock, log } = start();
  const failing = Promise.reject(new Error('the disk is full'));
  await expect(endInTime({ database: failing }, { clock, log })).rejects.toThrow(
    'the disk is full',
  );
});
