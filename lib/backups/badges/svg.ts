import { escapeHtml } from '../../text/escape-html.ts';
import { type Badge, badgeColors } from './message.ts';

// Badge texts are few and plain, so a template is enough; badge-maker would add the widths of all characters. The
// browser fits each text to its `textLength`, whatever font it uses.

const CHARACTER_WIDTH = 6.5;
const PADDING = 6;

const widthOf = (text: string) => Math.round(text.length * CHARACTER_WIDTH);

/** Draws a badge in the style of shields.io. It needs no style sheet, script or font. */
export function drawBadge({ label, message, color }: Badge): string {
  const [left, right] = [widthOf(label) + 2 * PADDING, widthOf(message) + 2 * PADDING];
  const title = escapeHtml(`${label}: ${message}`);
  const text = (content: string, x: number) =>
    `<text x="${x + PADDING}" y="14" textLength="${widthOf(content)}" lengthAdjust="spacingAndGlyphs">${escapeHtml(content)}</text>`;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" role="img" aria-label="${title}">`,
    `<title>${title}</title>`,
    `<clipPath id="r"><rect width="${left + right}" height="20" rx="3" fill="#fff"/></clipPath>`,
    `<g clip-path="url(#r)"><rect width="${left}" height="20" fill="#555"/>`,
    `<rect x="${left}" width="${right}" height="20" fill="${badgeColors[color]}"/></g>`,
    '<g fill="#fff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">',
    `${text(label, 0)}${text(message, left)}</g></svg>`,
  ].join('');
}
