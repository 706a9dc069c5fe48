import { within } from '../../lib/async.ts';
import type { Clock } from '../../lib/clock.ts';
import { type CheckFinding, failed } from './report.ts';

/** How long one check may read from a database that responds. */
export const READ_WITHIN_MS = 6_000;

/** The message of an error, with that of its cause. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { message, cause } = error;
  // Several addresses were tried; the first error is enough.
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause;
  if (!(inner instanceof Error)) return message || error.name;
  return `${message}: ${reasonOf(inner)}`;
}

/** Whether an error, or what caused it, has a code such as ECONNREFUSED. */
export function hasCode(error: unknown, code: string): boolean {
  if (!(error instanceof Error)) return false;
  if ('code' in error && error.code === code) return true;
  const tried: unknown[] = error instanceof AggregateError ? error.errors : [];
  return [error.cause, ...tried].some((inner) => hasCode(inner, code));
}

/** The outcome of a check, which fails if it takes longer than `ms`. */
export async function withinLimit(
  ms: number,
  clock: Clock,
  work: () => Promise<CheckFinding>,
  describe: (reason: string, error: unknown) => CheckFinding,
): Promise<CheckFinding> {
  try {
    return await within(ms, work(), clock);
  } catch (error) {
    return describe(reasonOf(error), error);
  }
}

/** The finding of a check that could not read the database: an unknown state counts as failed. */
export function unreadable(reason: string): CheckFinding {
  return failed(`cannot be read: ${reason}`, 'try again, and check the log of the database', {
    effect: 'none',
  });
}

/** The result of a call and its duration. */
export async function timed<Value>(
  call: () => Promise<Value>,
): Promise<{ value: Value; latency_ms: number }> {
  const start = performance.now();
  const value = await call();
  return { value, latency_ms: Math.round((performance.now() - start) * 10) / 10 };
}
