/** What is known of a state of an archive. */
export interface KnownState {
  number: number;
  /** Identifies each of its versions, oldest first. */
  versions: readonly string[];
}

/**
 * The numbers of the states that a later one supersedes: it contains their newest version, or versions that were made
 * after it. What such a state lacks was pruned on purpose. A state of an archive that started over, or of another
 * machine, shares no version with the others, so nothing supersedes it.
 */
export function findSuperseded(states: readonly KnownState[]): Set<number> {
  const before = new Map<string, Set<string>>();
  for (const { versions } of states) {
    for (const [index, version] of versions.entries()) {
      const known = before.get(version) ?? new Set<string>();
      const previous = versions[index - 1];
      before.set(version, previous === undefined ? known : known.add(previous));
    }
  }
  const superseded = new Set<number>();
  /** The versions of the states so far, and all that were made before them. */
  const covered = new Set<string>();
  for (const { number, versions } of states.toSorted((one, other) => other.number - one.number)) {
    const newest = versions.at(-1);
    if (newest !== undefined && covered.has(newest)) superseded.add(number);
    const waiting = [...versions];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (covered.has(next)) continue;
      covered.add(next);
      waiting.push(...(before.get(next) ?? []));
    }
  }
  return superseded;
}
