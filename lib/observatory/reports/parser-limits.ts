// The markdown parser needs quadratic time for some texts, and quadratic space for tables: 100,000 exclamation
// marks take 17 s, and 81 kB of a table with 20,000 columns become 100 MB of HTML.

/** Characters. The worst texts of this length take a second. */
const MAX_CHARS = 20_000;
/** Lines. Each line of a list is appended to the text before it. */
const MAX_LINES = 4_000;
/** Emphasis and image markers in one paragraph. Each may be searched for to the end of the text. */
const MAX_MARKERS = 1_000;
/** Nested quotes and lists on one line. The parser recurses into each. */
const deepNesting = /^[ \t]*(?:>[ \t]*|(?:[-*+]|\d{1,9}[.)])[ \t]+){20,}/m;
/** Table cells. Every row gets all columns of its table, even if it has one word. */
const MAX_CELLS = 20_000;
/** The line below the header of a table, which sets the number of columns. */
const tableLine = /^[ \t>]*[|:-][ \t|:-]*$/gm;

/** Whether this markdown would keep the parser busy for seconds, or exhaust its memory or stack. */
export function wouldOverloadParser(markdown: string): boolean {
  return (
    markdown.length > MAX_CHARS ||
    count(markdown, /\n/g) > MAX_LINES ||
    deepNesting.test(markdown) ||
    countCells(markdown) > MAX_CELLS ||
    markdown.split(/\n[ \t]*\n/).some((paragraph) => count(paragraph, /[*_~!]/g) > MAX_MARKERS)
  );
}

/** An upper bound, as if every line of the text belonged to its widest table. */
function countCells(markdown: string): number {
  const bars = (markdown.match(tableLine) ?? []).map((line) => count(line, /\|/g));
  return Math.max(0, ...bars) * count(markdown, /\n/g);
}

function count(text: string, sign: RegExp): number {
  return text.match(sign)?.length ?? 0;
}
