/** A part longer than this is cut wherever it can be. */
const MAX_PART_CHARS = 8_000;
/** Shorter parts are not worth being apart. */
const MIN_PART_CHARS = 1_500;

/** Begins or ends a block of code. */
const fence = /^ {0,3}(?:```|~~~)/;
/** Continues what stands above: an indented line, an item of a list, a quote, a row of a table, a footnote. */
const continues = /^(?:\s|[-*+>|]|\d{1,9}[.)]|\[\^)/;

/**
 * Cuts Markdown into parts that mean the same apart as together, so that a growing answer is parsed again only in
 * its last part. What has been cut off stays as it is when the text grows.
 */
export function splitMarkdown(text: string): string[] {
  const parts: string[] = [];
  let part = '';
  let isCode = false;
  let isAfterBlank = false;
  for (const line of linesOf(text)) {
    const mayCut = isAfterBlank && !isCode && !continues.test(line) && part.length > MIN_PART_CHARS;
    if (mayCut || part.length + line.length > MAX_PART_CHARS) {
      if (part !== '') parts.push(part);
      part = '';
    }
    if (fence.test(line)) isCode = !isCode;
    isAfterBlank = line.trim() === '';
    part += line;
  }
  return part === '' ? parts : [...parts, part];
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
