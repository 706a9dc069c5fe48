/** A longer part is cut, even within a paragraph or a block of code. */
const MAX_PART_CHARS = 8_000;
/** Shorter parts are not worth a cut. */
const MIN_PART_CHARS = 1_500;

/** Begins or ends a block of code. Longer marks are ignored: nobody needs one, and each part would repeat it. */
const fence = /^ {0,3}(?<mark>`{3,20}(?!`)|~{3,20}(?!~))(?<rest>.*)/;
/** A line that continues the block above it: indented, a list item, a quote, a table row or a footnote. */
const continues = /^(?:\s|[-*+>|]|\d{1,9}[.)]|\[\^)/;

/**
 * Splits Markdown into parts that render the same apart as together, so that only the last part of a growing answer
 * is parsed again. Earlier parts stay the same while the text grows. A block of code that is too long for one part
 * becomes several.
 */
export function splitMarkdown(text: string): string[] {
  const parts: string[] = [];
  let part = '';
  /** The mark that ends the current block of code. */
  let mark: string | null = null;
  let isAfterBlank = false;
  for (const line of linesOf(text)) {
    const mayCut =
      isAfterBlank && mark === null && !continues.test(line) && part.length > MIN_PART_CHARS;
    if (part !== '' && (mayCut || part.length + line.length > MAX_PART_CHARS)) {
      parts.push(mark === null ? part : `${part}${part.endsWith('\n') ? '' : '\n'}${mark}\n`);
      part = mark === null ? '' : `${mark}\n`;
    }
    mark = markAfter(line, mark);
    isAfterBlank = line.trim() === '';
    part += line;
  }
  return part === '' ? parts : [...parts, part];
}

/** The mark of the block of code that is still open after a line. */
function markAfter(line: string, open: string | null): string | null {
  const { mark, rest = '' } = fence.exec(line)?.groups ?? {};
  if (mark === undefined) return open;
  if (open === null) return mark.startsWith('`') && rest.includes('`') ? null : mark;
  const closes = mark.startsWith(open) && rest.trim() === '';
  return closes ? null : open;
}

/** The lines with their line ends. A line that is too long for a part becomes several. */
function* linesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start) + 1 || text.length;
    const next = Math.min(end, start + MAX_PART_CHARS);
    yield text.slice(start, next);
    start = next;
  }
}
