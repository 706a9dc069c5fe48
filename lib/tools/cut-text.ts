/** Longest text of one log line or error in an answer, in characters, as search has it too. */
const LONGEST_TEXT = 4_000;

/** A text from outside as an answer carries it: one that is longer is cut and ends with `…`. */
export function cutText(text: string): string {
  if (text.length <= LONGEST_TEXT) return text;
  return `${text.slice(0, LONGEST_TEXT - 1)}…`.toWellFormed();
}
