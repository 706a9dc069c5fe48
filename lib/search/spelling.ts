/** More pieces than a query needs to be told from another. */
const MOST_PIECES = 32;

/**
 * What the words of a text are spelt of: their runs of three characters in lower case, shorter words whole;
 * of a long text 32 from all over it.
 */
export function piecesOf(text: string): string[] {
  const pieces = new Set<string>();
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const letters = [...word];
    for (let n = 0; n < Math.max(letters.length - 2, 1); n++) {
      pieces.add(letters.slice(n, n + 3).join(''));
    }
  }
  const all = [...pieces];
  const step = Math.max(all.length / MOST_PIECES, 1);
  return Array.from(
    { length: Math.min(all.length, MOST_PIECES) },
    (_, n) => all[Math.floor(n * step)] ?? '',
  );
}
