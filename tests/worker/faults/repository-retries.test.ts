import { expect, it } from 'vitest';
import { classifyFault } from '../../../lib/worker/base/git-faults.ts';
import { pauseBeforeRetry } from '../../../lib/worker/base/repository-retries.ts';

const transient = classifyFault('fatal: Could not resolve host: example.org');

it.each([
  [1, 0, 2_000],
  [1, 1, 2_500],
  [2, 0, 8_000],
  [2, 0.5, 9_000],
  [3, 0, null],
])('the pause after %d tries with a jitter of %d is %j ms', (tries, jitter, pause) => {
  expect(pauseBeforeRetry(transient, tries, jitter)).toBe(pause);
});

it('the pause is as long as the host asks for', () => {
  expect(pauseBeforeRetry({ ...transient, retryAfterMs: 60_000 }, 1)).toBe(60_000);
});

it('a fault that would recur is not retried', () => {
  expect(pauseBeforeRetry(classifyFault('fatal: Authentication failed'), 1)).toBeNull();
});
