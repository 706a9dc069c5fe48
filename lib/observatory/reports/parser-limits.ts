// The parser of markdown takes time by the square of many texts, and room by that of a table: 100,000
// exclamation marks take it 17 s, and 81 kB of a table with 20,000 columns become 100 MB of HTML.

/** Characters: the worst texts of this length take a second. */
const LONGEST = 20_000;
/** Lines: each in a list is put to those before it. */
const MOST_LINES = 4_000;
/** Markers of emphasis and images in one paragraph: for the end of each all that follows may be looked through. */
const MOST_MARKERS = 1_000;
/** Quotes and lists in each other on one line: the parser calls itself for each. */
const deep = /^[ \t]*(?:>[ \t]*|(?:[-*+]|\d{1,9}[.)])[ \t]+){20,}/m;
/** Cells of tables: a row gets all columns of its table, also when it has one word. */
const MOST_CELLS = 20_000;
/** The line below the head of a table, which says how many columns there are. */
const tableLine = /^[ \t>]*[|:-][ \t|:-]*$/gm;

/** Would this markdown keep the parser busy for seconds, or make it run out of memory or stack? */
export function isTooMuch(markdown: string): boolean {
  return (
    markdown.length > LONGEST ||
    count(markdown, /\n/g) > MOST_LINES ||
    deep.test(markdown) ||
    countCells(markdown) > MOST_CELLS ||
    markdown.split(/\n[ \t]*\n/).some((paragraph) => count(paragraph, /[*_~!]/g) > MOST_MARKERS)
  );
}

/** At most so many, if every line of the text belonged to its widest table. */
function countCells(markdown: string): number {
  const bars = (markdown.match(tableLine) ?? []).map((line) => count(line, /\|/g));
  return Math.max(0, ...bars) * count(markdown, /\n/g);
}

function count(text: string, sign: RegExp): number {
  return text.match(sign)?.length ?? 0;
}
