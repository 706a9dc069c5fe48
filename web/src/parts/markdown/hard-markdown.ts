/** Quotes and lists that are nested too deeply for the parser or the browser. */
const tooDeep = /^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){20}/m;
/** A footnote nests as well, with the same danger, and answers do not need any. */
const footnote = /\[\^[^\]\n]*\]:/;
/** The parsing time of nested brackets grows with the square of their number. */
const MAX_BRACKETS = 300;

/** Whether a part of a text would take the Markdown parser too long or too deep. */
export function isHardToParse(part: string): boolean {
  return tooDeep.test(part) || footnote.test(part) || part.split('[').length > MAX_BRACKETS;
}
