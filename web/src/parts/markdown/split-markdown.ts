/** A part longer than this is cut wherever it can be. */
const MAX_PART_CHARS = 8_000;
/** Shorter parts are not worth being apart. */
const MIN_PART_CHARS = 1_500;

/** Begins or ends a block of code. Nobody needs a longer mark, and it would be repeated with each part. */
const fence = /^ {0,3}(?<mark>`{3,20}(?!`)|~{3,20}(?!~))(?<rest>.*)/;
/** Continues what stands above: an indented line, an item of a list, a quote, a row of a table, a footnote. */
const continues = /^(?:\s|[-*+>|]|\d{1,9}[.)]|\[\^)/;

/**
 * Cuts Markdown into parts that mean the same apart as together, so that a growing answer is parsed again only in
 * its last part. What has been cut off stays as it is when the text grows. A block of code that is too long for
 * one part is several.
 */
export function splitMarkdown(text: string): string[] {
  const parts: string[] = [];
  let part = '';
  /** What ends the block of code that the line stands in. */
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

/** The mark of the block of code that is open after a line. */
function markAfter(line: string, open: string | null): string | null {
  const { mark, rest = '' } = fence.exec(line)?.groups ?? {};
  if (mark === undefined) return open;
  if (open === null) return mark.startsWith('`') && rest.includes('`') ? null : mark;
  const closes = mark.startsWith(open) && rest.trim() === '';
  return closes ? null : open;
}

/** Lines with their ends; a line that is too long for a part is several. */
function* linesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf('\n', start) + 1 || text.length;
    const next = Math.min(end, start + MAX_PART_CHARS);
    yield text.slice(start, next);
    start = next;
  }
}
