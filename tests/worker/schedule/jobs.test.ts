import { describe, expect, it } from 'vitest';
import { jobsOf, runJobs, type Turn } from '../../../lib/worker/run/jobs.ts';
import { createTestClock } from '../../support/clock.ts';

const done: Turn = { visit: 'good', restMs: null };

/** Jobs that end when the test says so. */
function setUp(
  jobs: string[],
  concurrency: number,
  hostOf = (_job: string): string | null => null,
) {
  const clock = createTestClock();
  const stopping = new AbortController();
  const begun: string[] = [];
  const open = new Map<string, PromiseWithResolvers<Turn>>();
  const running = runJobs(jobsOf(jobs, hostOf), {
    ...{ concurrency, hostOf, clock },
    signal: stopping.signal,
    stop(error) {
      stopping.abort(error);
      for (const { reject } of open.values()) reject(new Error('stopped'));
    },
    work(job) {
      begun.push(job);
      const turn = Promise.withResolvers<Turn>();
      open.set(job, turn);
      return turn.promise;
    },
  });
  const settled = running.then(
    () => 'done',
    (error: Error) => error.message,
  );
  const flush = () => new Promise(setImmediate);
  return {
    ...{ clock, stopping, begun, settled, flush },
    async end(job: string, turn: Turn | Error = done) {
      const found = open.get(job);
      open.delete(job);
      if (turn instanceof Error) found?.reject(turn);
      else found?.resolve(turn);
      await flush();
    },
  };
}

it('runJobs starts jobs in order, and no more at once than allowed', async () => {
  const { begun, end, settled } = setUp(['a', 'b', 'c', 'd'], 2);
  expect(begun).toEqual(['a', 'b']);
  await end('b');
  expect(begun).toEqual(['a', 'b', 'c']);
  await end('c');
  await end('a');
  await end('d');
  expect(await settled).toBe('done');
});

it('runJobs skips a job while its host has no room', async () => {
  const { begun, end } = setUp(['x1', 'x2', 'x3', 'x4', 'y1'], 2, (job) => job.charAt(0));
  await end('x1', { visit: 'overloaded', restMs: null });
  // Two at once, and the host x has room for one: x2 still runs.
  expect(begun).toEqual(['x1', 'x2', 'y1']);
  await end('y1');
  expect(begun).toHaveLength(3);
  await end('x2');
  expect(begun).toEqual(['x1', 'x2', 'y1', 'x3', 'x4']);
});

describe('a job that waits for its next attempt', () => {
  it('takes up no slot, and comes next afterwards', async () => {
    const { begun, end, clock, flush, settled } = setUp(['a', 'b', 'c'], 1);
    await end('a', { visit: 'other', restMs: 2_000 });
    expect(begun).toEqual(['a', 'b']);
    clock.advance(2_000);
    await flush();
    await end('b');
    expect(begun).toEqual(['a', 'b', 'a']);
    await end('a');
    await end('c');
    expect(await settled).toBe('done');
  });

  it('keeps the run going when nothing else is left', async () => {
    const { begun, end, clock, flush, settled } = setUp(['a'], 1);
    await end('a', { visit: 'other', restMs: 2_000 });
    clock.advance(1_999);
    await flush();
    expect(begun).toEqual(['a']);
    clock.advance(1);
    await flush();
    await end('a');
    expect(await settled).toBe('done');
  });

  it('does not delay the end of an interrupted run', async () => {
    const { end, stopping, settled } = setUp(['a'], 1);
    await end('a', { visit: 'other', restMs: 2_000 });
    stopping.abort(new Error('interrupted'));
    expect(await settled).toBe('interrupted');
  });
});

it('runJobs stops all jobs on the first error, waits for them, and starts no others', async () => {
  const { begun, end, stopping, settled } = setUp(['a', 'b', 'c'], 2);
  await end('b', new Error('the database is away'));
  expect(stopping.signal.reason).toMatchObject({ message: 'the database is away' });
  expect(await settled).toBe('the database is away');
  expect(begun).toEqual(['a', 'b']);
});

it('runJobs throws the reason of an interruption once the jobs under way have ended', async () => {
  const { begun, end, stopping, settled } = setUp(['a', 'b'], 1);
  stopping.abort(new Error('interrupted'));
  await end('a');
  expect(await settled).toBe('interrupted');
  expect(begun).toEqual(['a']);
});

it('runJobs has nothing to do without jobs', async () => {
  expect(await setUp([], 4).settled).toBe('done');
});
