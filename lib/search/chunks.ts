/** The maximum length of a chunk in characters; fits the models with the smallest contexts. */
export const CHUNK_LENGTH = 1_000;
/** How much a chunk repeats of the previous one, so that a sentence at a boundary is complete in one. */
const CHUNK_OVERLAP = 100;
/** A chunk ends at a boundary in its last third, if there is one. */
const MIN_CHUNK_LENGTH = Math.floor((CHUNK_LENGTH * 2) / 3);

/** Where to split a text, best first: after a paragraph, a line, a sentence, a word. */
const boundaries = ['\n\n', '\n', '. ', ' '];

/**
 * Splits a text into overlapping chunks, at line, sentence or word boundaries where possible, and never
 * within a surrogate pair. A blank text has no chunks.
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
  const last = text.slice(start + MIN_CHUNK_LENGTH, limit);
  for (const boundary of boundaries) {
    const at = last.lastIndexOf(boundary);
    if (at !== -1) return start + MIN_CHUNK_LENGTH + at + boundary.length;
  }
  return withinPair(text, limit) ? limit - 1 : limit;
}

/** Starts the next chunk at a word shortly before the end of the last one. */
function findStart(text: string, end: number): number {
  const from = end - CHUNK_OVERLAP;
  const blank = text.slice(from, end).search(/\s/);
  const start = blank === -1 ? from : from + blank + 1;
  return withinPair(text, start) ? start + 1 : start;
}

/** Whether this index is within a surrogate pair. */
function withinPair(text: string, at: number): boolean {
  return /[\uD800-\uDBFF]/.test(text[at - 1] ?? '') && /[\uDC00-\uDFFF]/.test(text[at] ?? '');
}
