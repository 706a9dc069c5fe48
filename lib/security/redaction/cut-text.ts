/** The maximum length of the mark. */
const MARK_LENGTH = 40;

const markAtEnd = /… \[cut: (\d{1,12}) more characters\]$/;

/**
 * Cuts a text to at most `maxLength` (more than 40) characters and appends a mark with the number of missing
 * characters: `… [cut: 36960 more characters]`. Cutting it again keeps the mark correct.
 */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const missing = Number(markAtEnd.exec(text)?.[1] ?? 0);
  const whole = text.replace(markAtEnd, '');
  // Do not split a surrogate pair.
  const kept = whole.slice(0, maxLength - MARK_LENGTH).replace(/[\ud800-\udbff]$/, '');
  return `${kept}… [cut: ${missing + whole.length - kept.length} more characters]`;
}

/** Splits off the mark of a cut text, after its `…`. The mark is empty for a text that was not cut. */
export function splitCutMark(text: string): { text: string; mark: string } {
  const found = markAtEnd.exec(text);
  if (!found) return { text, mark: '' };
  return { text: text.slice(0, found.index + 1), mark: text.slice(found.index + 1) };
}

/** SQL equivalent of `cutText`; empty for NULL. */
export function cutTextSql(column: string, maxLength: number): string {
  const kept = maxLength - MARK_LENGTH;
  return `(CASE WHEN length(${column}) > ${maxLength}
    THEN left(${column}, ${kept}) || '… [cut: ' || length(${column}) - ${kept} || ' more characters]'
    ELSE coalesce(${column}, '') END)`;
}
