import type { Schemas } from '../api/client.ts';
import { countOf, formatAge } from '../parts/format.ts';

/** The state of the backups in one sentence, the worst first. */
export interface Verdict {
  state: 'good' | 'bad' | 'unsure';
  sentence: string;
  /** The run to look at. */
  run: number | null;
}

/** Sums up an overview. */
export function judge(overview: Schemas['Overview'], now: number): Verdict {
  const verdict = judgeBackups(overview, now);
  const { open } = overview.incidents;
  if (open === 0 || overview.repositories.total === 0) return verdict;
  const incidents = `${countOf(open, 'incident is', 'incidents are')} open.`;
  return { ...verdict, state: 'bad', sentence: `${incidents} ${verdict.sentence}` };
}

function judgeBackups(overview: Schemas['Overview'], now: number): Verdict {
  const last = overview.last_finished_run;
  const run = last?.id ?? null;
  const bad = (sentence: string): Verdict => ({ state: 'bad', sentence, run });
  const { total, good } = overview.repositories;
  if (total === 0) {
    if (overview.running === null) return bad('Nothing is backed up yet.');
    return { state: 'unsure', sentence: 'The first run is under way.', run: overview.running.id };
  }
  const isStopped = last?.is_stopped === true;
  const state = `${isStopped ? 'The last run was stopped. ' : ''}${describeState(overview, now)}`;
  if (last?.status === 'failed' && !isStopped) return bad(`The last run failed. ${state}`);
  if (good < total) return bad(state);
  const { failing } = overview.proofs;
  if (failing > 0) {
    const which = total === 1 ? 'It' : failing === 1 ? 'One of them' : `${failing} of them`;
    return bad(`${state} ${which} failed a restore drill.`);
  }
  // A stopped run did not do what was due, though nothing is wrong.
  return { state: isStopped ? 'unsure' : 'good', sentence: state, run };
}

function describeState({ repositories, worst, freshness_hours }: Schemas['Overview'], now: number) {
  const { total, stale, failing, lost, never, gone } = repositories;
  const missing = stale + failing + lost + never + gone;
  if (missing === 0) {
    return total === 1
      ? 'The repository is backed up.'
      : `All ${countOf(total, 'repository', 'repositories')} are backed up.`;
  }
  const [first] = worst;
  if (missing === 1 && first) return describeOne(first, now);
  const parts = [
    gone > 0 && `${gone} whose archive is gone`,
    never > 0 && `${never} never backed up`,
    lost > 0 && `${lost} lost at its source`,
    failing > 0 && `${failing} failing`,
    stale > 0 && `${stale} without a good backup for more than ${freshness_hours} hours`,
  ].filter((part) => part !== false);
  const all = countOf(total, 'repository', 'repositories');
  const verb = missing === 1 ? 'is' : 'are';
  return `${missing} of ${all} ${verb} not safe: ${parts.join(', ')}.`;
}

function describeOne(
  { full_name, state, last_good_at }: Schemas['TrackedRepository'],
  now: number,
): string {
  if (state === 'gone') return `The archive of ${full_name} is gone, and no store has a copy.`;
  if (last_good_at === null) return `${full_name} was never backed up.`;
  const since = `last good backup was ${formatAge(last_good_at, now)}`;
  if (state === 'lost') return `${full_name} is lost at its source; its ${since}.`;
  return state === 'failing'
    ? `${full_name} is failing; its ${since}.`
    : `${full_name} has no recent backup: the ${since}.`;
}
