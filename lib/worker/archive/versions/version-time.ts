import type { VersionEntry } from '../../../archives/base/note.ts';

/** With a larger difference, clocks are not trusted to say how old a version is. */
export const MAX_CLOCK_DIFFERENCE_MS = 5 * 60_000;

/**
 * The time of a new version: now, but not before the last version if their clocks differ by no more than the maximum.
 */
export function timeOfNext(versions: readonly VersionEntry[], now: number): string {
  const last = Date.parse(versions.at(-1)?.at ?? '');
  const isAhead = last > now && last - now <= MAX_CLOCK_DIFFERENCE_MS;
  return new Date(isAhead ? last : now).toISOString();
}

/** Names a version dated in the future, which means that some clock was wrong; null if there is none. */
export function describeFuture(versions: readonly VersionEntry[], now: number): string | null {
  const found = versions.findLast(({ at }) => Date.parse(at) - now > MAX_CLOCK_DIFFERENCE_MS);
  if (found === undefined) return null;
  return `version ${found.version} is dated ${found.at}, but it is only ${new Date(now).toISOString()}`;
}
