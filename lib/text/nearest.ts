/** Only this many characters are compared, because the cost is quadratic. */
const MAX_COMPARED = 64;
/** How many pairs of characters are compared for all words together: some milliseconds. Later words are left out. */
const MAX_STEPS = 2_000_000;

/** Up to `max` words that resemble the typed one, closest first. */
export function nearestWords(typed: string, words: Iterable<string>, max: number): string[] {
  const near: { word: string; edits: number }[] = [];
  let left = MAX_STEPS;
  for (const word of words) {
    if (left <= 0) break;
    const allowed = Math.max(2, word.length / 3);
    const { edits, steps } = countEdits(typed, word, allowed);
    left -= steps;
    if (edits <= allowed) near.push({ word, edits });
  }
  return near
    .sort((a, b) => a.edits - b.edits)
    .slice(0, max)
    .map(({ word }) => word);
}

/** The Levenshtein distance, or some larger number than `allowed` as soon as it must be more than that. */
function countEdits(from: string, to: string, allowed: number): { edits: number; steps: number } {
  const [letters, others] = [from.slice(0, MAX_COMPARED), to.slice(0, MAX_COMPARED)];
  const difference = Math.abs(letters.length - others.length);
  if (difference > allowed) return { edits: difference, steps: 1 };
  let row = Array.from({ length: others.length + 1 }, (_, column) => column);
  let steps = 1;
  for (let index = 0; index < letters.length; index++) {
    const next = [index + 1];
    let least = index + 1;
    for (let column = 1; column <= others.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (letters[index] === others[column - 1] ? 0 : 1);
      const edits = Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1);
      next.push(edits);
      least = Math.min(least, edits);
    }
    steps += others.length;
    // The distance never falls below the least of a row.
    if (least > allowed) return { edits: least, steps };
    row = next;
  }
  return { edits: row.at(-1) ?? 0, steps };
}
