import { expect, it } from 'vitest';
import { pauseBeforeRetry } from '../../../lib/worker/faults/backoff.ts';
import { classifyFault } from '../../../lib/worker/faults/git-faults.ts';

const away = classifyFault('fatal: Could not resolve host: example.org');

it.each([
  [1, 0, 2_000],
  [1, 1, 2_500],
  [2, 0, 8_000],
  [2, 0.5, 9_000],
  [3, 0, null],
])('after %d tries, with a jitter of %d, waits %j ms', (tries, jitter, pause) => {
  expect(pauseBeforeRetry(away, tries, jitter)).toBe(pause);
});

it('waits as long as the host asks for', () => {
  expect(pauseBeforeRetry({ ...away, retryAfterMs: 60_000 }, 1)).toBe(60_000);
});

it('does not repeat what would fail again', () => {
  expect(pauseBeforeRetry(classifyFault('fatal: Authentication failed'), 1)).toBeNull();
});
