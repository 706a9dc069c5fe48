/** Nested so deeply that it would take the parser, or the browser, too far. */
const tooDeep = /^(?:[ \t]*(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))){20}/m;
/** A footnote is a container of its own, with the same danger, and nothing that an answer needs. */
const footnote = /\[\^[^\]\n]*\]:/;
/** Brackets within brackets take time that grows with their square. */
const MAX_BRACKETS = 300;

/** Would a part of a text take the Markdown parser too long, or too deep? */
export function isHardToParse(part: string): boolean {
  return tooDeep.test(part) || footnote.test(part) || part.split('[').length > MAX_BRACKETS;
}
