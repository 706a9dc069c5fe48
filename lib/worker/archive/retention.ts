import type { VersionEntry } from '../../archives/base/note.ts';
import type { RetentionPolicy } from '../../config/archives.ts';

const DAY_MS = 24 * 60 * 60_000;

/**
 * Selects the versions that the policy does not keep, oldest first. The newest version of each day, week and month that
 * it counts stays. The newest version of all always stays, and so do those that `hold` holds back.
 */
export function selectPruned(
  versions: readonly VersionEntry[],
  policy: RetentionPolicy,
  now: number,
  hold: Hold,
): VersionEntry[] {
  const newestFirst = [...versions].reverse();
  const kept = new Set<VersionEntry>(newestFirst.slice(0, 1));
  for (const entry of newestFirst) {
    if (now - Date.parse(entry.at) <= policy.allDays * DAY_MS) kept.add(entry);
  }
  keepNewest(newestFirst, policy.daily, (time) => Math.floor(time / DAY_MS), kept);
  // 1970 began on a Thursday, and weeks begin on Mondays.
  keepNewest(newestFirst, policy.weekly, (time) => Math.floor((time / DAY_MS + 3) / 7), kept);
  keepNewest(newestFirst, policy.monthly, (time) => new Date(time).toISOString().slice(0, 7), kept);
  const lastHeld = versions.findLastIndex((entry) => holdsBack(hold, entry));
  return versions.filter((entry, index) => index > lastHeld && !kept.has(entry));
}

/** Keeps the newest version of each of the last `count` periods that have one. */
function keepNewest(
  newestFirst: readonly VersionEntry[],
  count: number,
  periodOf: (time: number) => number | string,
  kept: Set<VersionEntry>,
): void {
  const periods = new Set<number | string>();
  for (const entry of newestFirst) {
    const period = periodOf(Date.parse(entry.at));
    if (periods.has(period)) continue;
    if (periods.size >= count) return;
    periods.add(period);
    kept.add(entry);
  }
}

/** What holds back pruning: unconfirmed anomalies. */
export interface Hold {
  /** Why no version may be pruned; null if there is no such reason. */
  all: string | null;
  /** By version number: whether all anomalies of the version are confirmed. */
  confirmed: ReadonlyMap<number, boolean>;
}

/** The hold of a run that cannot find out what was confirmed. */
export const HOLD_ALL: Hold = {
  all: 'the database, which knows what was confirmed, is unreachable',
  confirmed: new Map(),
};

/** Whether a version holds back itself and all older ones. A warning that only its note records is not confirmed. */
function holdsBack({ confirmed }: Hold, { version, warning }: VersionEntry): boolean {
  return !(confirmed.get(version) ?? warning === null);
}
