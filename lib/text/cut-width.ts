const graphemes = new Intl.Segmenter('und', { granularity: 'grapheme' });

/** Columns that a terminal may need for a grapheme: two unless it is certainly narrow, which emoji are not. */
function columnsOf(grapheme: string): number {
  const point = grapheme.codePointAt(0) ?? 0;
  // Narrow: everything before the Hangul letters, and general punctuation, lines and blocks.
  const isNarrow =
    point < 0x1100 || (point >= 0x2010 && point < 0x2028) || (point >= 0x2500 && point < 0x25a0);
  // Characters that modify their neighbours may widen them.
  return isNarrow && !/[\u200d\ufe0f]/.test(grapheme) ? 1 : 2;
}

/** Cuts a text so that it certainly fits into `columns` of a terminal; `…` replaces the rest. */
export function cutToWidth(text: string, columns: number): string {
  let used = 0;
  let kept = '';
  let short = '';
  for (const { segment } of graphemes.segment(text)) {
    used += columnsOf(segment);
    if (used > columns) return columns > 0 ? `${short}…` : '';
    kept += segment;
    if (used < columns) short = kept;
  }
  return kept;
}
