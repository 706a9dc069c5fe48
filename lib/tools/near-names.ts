import { cleanText } from '../text/clean-text.ts';
import { nearestWords } from '../text/nearest.ts';

/** Most names that are suggested. */
const MAX_SUGGESTED = 3;

/** Most names that are compared: more are not looked at. */
export const MAX_NAMES_COMPARED = 2_000;

/** Most characters of one suggested name. */
const MAX_NAME_CHARS = 255;

/**
 * The repository names nearest to one that is not among them, at most three: first those that differ in
 * letter case alone, then those of the same name under another owner, then those a few edits away. Empty
 * when none is near.
 */
export function nearNames(asked: string, names: readonly string[]): string[] {
  const byLower = new Map(
    names.slice(0, MAX_NAMES_COMPARED).map((name) => [name.toLowerCase(), name]),
  );
  const wanted = asked.trim().toLowerCase();
  const known = [...byLower.keys()];
  const near = [
    ...known.filter((name) => name === wanted),
    ...known.filter((name) => baseName(name) === baseName(wanted)),
    ...nearestWords(wanted, known, MAX_SUGGESTED),
  ];
  return [...new Set(near)]
    .slice(0, MAX_SUGGESTED)
    .map((name) => cleanText(byLower.get(name) ?? name, MAX_NAME_CHARS));
}

/** The end of a sentence that names them, `; did you mean a/b or a/c?`; nothing when there are none. */
export function didYouMean(near: readonly string[]): string {
  return near.length === 0 ? '' : `; did you mean ${near.join(' or ')}?`;
}

function baseName(name: string): string {
  return name.split('/').at(-1) ?? '';
}
