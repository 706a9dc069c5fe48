import { expect, it } from 'vitest';
import { databaseUnavailable } from '../../lib/database/database.ts';
import { retryWhileUnavailable } from '../../lib/worker/base/retry-database.ts';
import { createTestClock } from '../support/clock.ts';

it('an unavailable database is retried after increasing pauses of at most 4 seconds', async () => {
  const clock = createTestClock();
  const start = clock.now();
  const askedAt: number[] = [];
  const work = async () => {
    askedAt.push((clock.now() - start) / 1_000);
    throw databaseUnavailable(new Error('away'));
  };
  const outcome = retryWhileUnavailable(work, { clock, forMs: 20_000 }).catch(({ code }) => code);
  let code: unknown = null;
  outcome.then((value) => {
    code = value;
  });
  while (code === null) {
    await new Promise((done) => setImmediate(done));
    clock.advance(500);
  }
  expect({ code, askedAt }).toEqual({
    code: 'SERVICE_UNAVAILABLE',
    askedAt: [0, 0.5, 1.5, 3.5, 7.5, 11.5, 15.5, 19.5],
  });
});
