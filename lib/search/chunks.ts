/** Long enough for a thought, short enough for the models with the smallest contexts. Characters. */
export const CHUNK_LENGTH = 1_000;
/** What a chunk repeats of the one before it, so that a sentence across a border is whole in one. */
export const CHUNK_OVERLAP = 100;
/** A chunk ends at a boundary in its last third, when there is one. */
const EARLIEST_END = Math.floor((CHUNK_LENGTH * 2) / 3);

/** Where a text may be cut, best first: after a paragraph, a line, a sentence, a word. */
const boundaries = ['\n\n', '\n', '. ', ' '];

/**
 * Cuts a text into chunks of at most 1,000 characters that overlap by up to 100, at boundaries of lines,
 * sentences or words where it has some, never within a character. A blank text has none.
 */
export function splitIntoChunks(text: string): string[] {
  const chunks: string[] = [];
  let start = 0;
  while (start < text.length) {
    const end = findEnd(text, start);
    const chunk = text.slice(start, end).trim();
    if (chunk !== '') chunks.push(chunk);
    if (end === text.length) break;
    start = findStart(text, end);
  }
  return chunks;
}

function findEnd(text: string, start: number): number {
  const limit = start + CHUNK_LENGTH;
  if (limit >= text.length) return text.length;
  const last = text.slice(start + EARLIEST_END, limit);
  for (const boundary of boundaries) {
    const at = last.lastIndexOf(boundary);
    if (at !== -1) return start + EARLIEST_END + at + boundary.length;
  }
  return withinPair(text, limit) ? limit - 1 : limit;
}

/** A little before the end of the last chunk, at the beginning of a word. */
function findStart(text: string, end: number): number {
  const from = end - CHUNK_OVERLAP;
  const blank = text.slice(from, end).search(/\s/);
  const start = blank === -1 ? from : from + blank + 1;
  return withinPair(text, start) ? start + 1 : start;
}

/** Does a place lie within a surrogate pair, one character of two units? */
function withinPair(text: string, at: number): boolean {
  return /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') && /[\uDC00-\uDFFF]/.test(text[at] ?? '');
}
