import { nearestWords } from '../../text/nearest.ts';

/** How many paths of each kind are compared, and how many are named. */
const MAX_COMPARED = 2_000;
const MAX_NAMED = 3;

/** Collects the paths of an archive that resemble a wanted one, with a bound on memory and time. */
export interface NearPaths {
  add(path: string): void;
  /** The nearest first: in another case, in another folder, or misspelt. */
  found(): string[];
}

/** Finds paths that resemble `wanted`. */
export function findNearPaths(wanted: string): NearPaths {
  const asked = wanted.toLowerCase();
  const [folder, name] = split(asked);
  const same: string[] = [];
  const elsewhere: string[] = [];
  const beside = new Map<string, string>();
  const others = new Map<string, string>();
  return {
    add(path) {
      const lower = path.toLowerCase();
      const [parent, base] = split(lower);
      if (lower === asked && same.length < MAX_NAMED) same.push(path);
      else if (base === name && elsewhere.length < MAX_NAMED) elsewhere.push(path);
      else if (parent === folder && beside.size < MAX_COMPARED) beside.set(base, path);
      else if (others.size < MAX_COMPARED) others.set(lower, path);
    },
    found() {
      const misspelt = (words: ReadonlyMap<string, string>, word: string) =>
        nearestWords(word, words.keys(), MAX_NAMED).flatMap((near) => words.get(near) ?? []);
      const near = [...same, ...elsewhere, ...misspelt(beside, name), ...misspelt(others, asked)];
      return [...new Set(near)].slice(0, MAX_NAMED);
    },
  };
}

function split(path: string): [folder: string, name: string] {
  const slash = path.lastIndexOf('/');
  return [path.slice(0, slash + 1), path.slice(slash + 1)];
}
