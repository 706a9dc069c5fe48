/** Only this many characters are compared, because the cost is quadratic. */
const MAX_COMPARED = 64;

/** Up to `max` words that resemble the typed one, closest first. */
export function nearestWords(typed: string, words: readonly string[], max: number): string[] {
  return words
    .map((word) => ({ word, edits: editDistance(typed, word) }))
    .filter(({ word, edits }) => edits <= Math.max(2, word.length / 3))
    .sort((a, b) => a.edits - b.edits)
    .slice(0, max)
    .map(({ word }) => word);
}

/** The Levenshtein distance. */
function editDistance(from: string, to: string): number {
  const [letters, others] = [from.slice(0, MAX_COMPARED), to.slice(0, MAX_COMPARED)];
  let row = Array.from({ length: others.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...letters].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= others.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (letter === others[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
