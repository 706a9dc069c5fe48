import { expect, it } from 'vitest';
import { loadOnce } from '../../lib/async.ts';

it('loadOnce creates the value on the first call, once for all callers', async () => {
  let made = 0;
  const load = loadOnce(async () => {
    made += 1;
    return { made };
  });
  expect(made).toBe(0);
  const [one, other] = await Promise.all([load(), load()]);
  expect(one).toBe(other);
  expect(await load()).toBe(one);
  expect(made).toBe(1);
});

it('loadOnce passes a failure to all current callers, and tries again on the next call', async () => {
  let tries = 0;
  const load = loadOnce(async () => {
    tries += 1;
    if (tries === 1) throw new Error('too many open files');
    return 'there';
  });
  const first = await Promise.allSettled([load(), load()]);
  expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await load()).toBe('there');
  expect(tries).toBe(2);
});
