import { cleanText } from './clean-text.ts';

/**
 * Quotes untrusted text (names, errors, logs) as one code span of up to `maxLength` characters, so that nothing in it
 * is parsed as markdown, a link or a tag. Empty text becomes a dash.
 */
export function quote(text: string, maxLength = 300): string {
  const line = cleanText(text, maxLength);
  if (line === '') return '–';
  const runs = [...line.matchAll(/`+/g)].map(([run]) => run.length);
  const fence = '`'.repeat(Math.max(0, ...runs) + 1);
  const gap = /^[` ]|[` ]$/.test(line) ? ' ' : '';
  return `${fence}${gap}${line}${gap}${fence}`;
}

/** A markdown table, or `empty` without rows. Cells are markdown: pass untrusted text through `quote`. */
export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  empty = '',
): string {
  if (rows.length === 0 && empty !== '') return empty;
  return [tableRow(head), tableRow(head.map(() => '---')), ...rows.map(tableRow)].join('\n');
}

/** A line of a markdown table. */
export function tableRow(cells: readonly string[]): string {
  return `| ${cells.map(escapeBars).join(' | ')} |`;
}

/** Escapes bars. A backslash right before a bar would be dropped, so a space separates them. */
function escapeBars(cell: string): string {
  return cell.replace(/\\(?=\|)/g, '\\ ').replaceAll('|', '\\|');
}
