import { expect, it, vi } from 'vitest';

it('a wait of a test is longer than a second', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'Date'] });
  let checks = 0;
  const waited = vi.waitFor(() => {
    checks += 1;
    expect(checks).toBeGreaterThan(100);
  });
  await vi.advanceTimersByTimeAsync(10_000);
  await waited;
  vi.useRealTimers();
});
