import type { Schemas } from '../api/client.ts';
import { countOf, formatAge } from '../parts/format.ts';

/** A run as the figures of many runs have it. */
export type Run = Schemas['RunMetrics']['runs'][number];

/** The worst truth about the backups. */
export interface Verdict {
  state: 'good' | 'bad' | 'unsure';
  sentence: string;
  /** The run that shows it. */
  run: number | null;
}

/** A day, and some time for a run that takes long. */
const FRESH_MS = 26 * 3_600_000;

/** Judges by runs that are sorted oldest first. */
export function judge(runs: readonly Run[], now: number): Verdict {
  const last = lastFinished(runs);
  if (last === null) {
    const first = runs.at(-1);
    return first
      ? { state: 'unsure', sentence: 'The first run is under way.', run: first.id }
      : { state: 'bad', sentence: 'There was no run in the last 90 days.', run: null };
  }
  const good = lastGood(runs);
  const since = good
    ? `the last good run was ${formatAge(good.started_at, now)}`
    : 'no run was good';
  if (last.status === 'failed') {
    return { state: 'bad', sentence: `The last run failed; ${since}.`, run: last.id };
  }
  if (last.failed > 0) {
    const total = countOf(last.total_repos, 'repository', 'repositories');
    const sentence = `${last.failed} of ${total} failed in the last run; ${since}.`;
    return { state: 'bad', sentence, run: last.id };
  }
  if (now - Date.parse(last.started_at) > FRESH_MS) {
    return { state: 'bad', sentence: `There is no new backup: ${since}.`, run: last.id };
  }
  const sentence =
    last.total_repos === 1
      ? 'The repository is backed up.'
      : `All ${countOf(last.total_repos, 'repository', 'repositories')} are backed up.`;
  return { state: 'good', sentence, run: last.id };
}

export function lastFinished(runs: readonly Run[]): Run | null {
  return runs.findLast(({ status }) => status !== 'running') ?? null;
}

/** The last run in which nothing failed. */
export function lastGood(runs: readonly Run[]): Run | null {
  return runs.findLast(({ status, failed }) => status === 'completed' && failed === 0) ?? null;
}
