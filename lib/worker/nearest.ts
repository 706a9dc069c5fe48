/** The word that is fewest edits away from what was typed; null when none is close. */
export function nearestWord(typed: string, words: readonly string[]): string | null {
  const [best] = words
    .map((word) => ({ word, edits: editDistance(typed, word) }))
    .sort((a, b) => a.edits - b.edits);
  return best && best.edits <= Math.max(2, best.word.length / 3) ? best.word : null;
}

/** Letters to insert, remove or replace to get from one word to the other (Levenshtein). */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (let column = 1; column <= to.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (letter === to[column - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
