/** Enough to distinguish queries. */
const MAX_TRIGRAMS = 32;

/**
 * The trigrams of a text's words in lower case; shorter words are kept whole. A long text is sampled evenly.
 */
export function trigramsOf(text: string): string[] {
  const pieces = new Set<string>();
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    const letters = [...word];
    for (let n = 0; n < Math.max(letters.length - 2, 1); n++) {
      pieces.add(letters.slice(n, n + 3).join(''));
    }
  }
  const all = [...pieces];
  const step = Math.max(all.length / MAX_TRIGRAMS, 1);
  return Array.from(
    { length: Math.min(all.length, MAX_TRIGRAMS) },
    (_, n) => all[Math.floor(n * step)] ?? '',
  );
}
