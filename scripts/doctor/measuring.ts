import type { Clock } from '../../lib/platform/clock.ts';
import { within } from '../../lib/platform/within.ts';
import type { Finding } from './report.ts';

/** What an error says, and what is underneath it where that says more. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  // Several addresses were tried: none of them says more than the code of the first.
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause;
  if (!(inner instanceof Error)) return message || error.name;
  return `${message}: ${reasonOf(inner)}`;
}

/** The outcome of a check, or what it failed with when it takes longer than `ms`. */
export async function withinLimit(
  ms: number,
  clock: Clock,
  work: () => Promise<Finding>,
  failed: (reason: string) => Finding,
): Promise<Finding> {
  try {
    return await within(ms, work(), clock);
  } catch (error) {
    return failed(reasonOf(error));
  }
}

/** What a call answers, and after how many milliseconds. */
export async function timed<Value>(
  call: () => Promise<Value>,
): Promise<{ value: Value; latency_ms: number }> {
  const start = performance.now();
  const value = await call();
  return { value, latency_ms: Math.round((performance.now() - start) * 10) / 10 };
}
