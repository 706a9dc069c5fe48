import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { LoadPlan, LoadResult } from './clients.ts';

/** A load in progress. */
export interface Load {
  /** Resolves when its connections are open and the first request is sent. */
  connected: Promise<unknown>;
  result: Promise<LoadResult>;
}

/** Carries out a plan in its own process. */
export function runClients(plan: LoadPlan): Load {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'clients.ts')], {
    env: { PATH: process.env.PATH },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  // Follows the last message; the end of the process may come before.
  const ended = once(child, 'disconnect').then(() => {
    throw new Error(`the clients ended without a result (exit code ${child.exitCode})`);
  });
  ended.catch(() => undefined);
  const nextMessage = () => Promise.race([once(child, 'message'), ended]);
  const connected = nextMessage();
  const result = connected.then(nextMessage).then(([message]) => message as LoadResult);
  child.send(plan);
  return { connected, result };
}

/** The figures of a load that are judged. */
export interface LoadFigures {
  answered: number;
  perSecond: number;
  /** How many answers had each status. */
  statuses: Record<number, number>;
  failures: LoadResult['failures'];
  /** Of the successes, in milliseconds. */
  p50: number;
  p99: number;
}

/** Summarizes a result. */
export function figuresOf({ seconds, answers, failures }: LoadResult): LoadFigures {
  const statuses: Record<number, number> = {};
  for (const { status, durations } of answers) {
    statuses[status] = (statuses[status] ?? 0) + durations.length;
  }
  const good = answers
    .filter(({ status }) => status < 300)
    .flatMap(({ durations }) => durations)
    .sort((a, b) => a - b);
  const answered = answers.reduce((sum, { durations }) => sum + durations.length, 0);
  return {
    answered,
    perSecond: good.length / seconds,
    statuses,
    failures,
    p50: quantile(good, 0.5),
    p99: quantile(good, 0.99),
  };
}

/** The value below which a share of sorted values lies; NaN if there are none. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The figures of each kind of request, for people. */
export function describeLoad(title: string, result: LoadResult): string {
  const { answered, perSecond, statuses, p50, p99 } = figuresOf(result);
  const lines = result.answers.map(({ name, status, durations }) => {
    const sorted = durations.toSorted((a, b) => a - b);
    const [half, most] = [quantile(sorted, 0.5), quantile(sorted, 0.99)].map((it) => it.toFixed(0));
    return `  ${status} ${name.padEnd(36)} ${String(sorted.length).padStart(6)}  p50 ${half} ms, p99 ${most} ms`;
  });
  return [
    `load: ${title}: ${answered} answers ${JSON.stringify(statuses)}, ${perSecond.toFixed(0)} successes a second, p50 ${p50.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms`,
    ...lines.sort(),
    ...Object.entries(result.failures).map(([reason, count]) => `  ${count} times ${reason}`),
  ].join('\n');
}
