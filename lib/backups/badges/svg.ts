import { escapeHtml } from '../../text/escape-html.ts';
import { type Badge, badgeColors } from './message.ts';

// Our texts are few and plain, so a template does: badge-maker would bring the widths of all characters. The browser
// fits each text to its `textLength`, whatever font it has.

const CHARACTER_WIDTH = 6.5;
const PADDING = 6;

const widthOf = (text: string) => Math.round(text.length * CHARACTER_WIDTH);

/** Draws a badge as the ones of shields.io look. It needs no style, script or font of its own. */
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
