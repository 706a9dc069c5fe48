import type { Clock } from './clock.ts';

/** Resolves as the work does, or rejects when it takes longer than `ms` milliseconds. */
export async function within<Value>(
  ms: number,
  work: Promise<Value>,
  clock: Clock,
): Promise<Value> {
  const done = new AbortController();
  const expiry = clock.sleep(ms, done.signal).then(() => {
    throw new Error(`no answer within ${ms} ms`);
  });
  try {
    return await Promise.race([work, expiry]);
  } finally {
    done.abort();
  }
}
