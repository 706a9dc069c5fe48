import type { IOptions } from 'sanitize-html';
import { escapeHtml } from '../../text/escape-html.ts';
import { wouldOverloadParser } from './parser-limits.ts';

/**
 * A part of a report: `markdown` that we made, which quotes foreign text only in code spans; `written`, which
 * is markdown that somebody else wrote; or a drawing that we made.
 */
export type Block = { markdown: string } | { written: string } | { svg: string };

/** A report with its default subject. */
export interface Content {
  subject: string;
  blocks: Block[];
}

/** The markdown of a report, without its drawings. */
export function joinMarkdown(blocks: readonly Block[]): string {
  return blocks
    .flatMap((block) => ('svg' in block ? [] : 'written' in block ? block.written : block.markdown))
    .join('\n\n');
}

/** Everything that markdown can produce except images, because a mail must not load anything. */
const allowed: IOptions = {
  allowedTags: [
    ...['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'br', 'hr', 'blockquote', 'ul', 'ol', 'li'],
    ...['strong', 'em', 'del', 'code', 'pre', 'a'],
    ...['table', 'thead', 'tbody', 'tr', 'th', 'td'],
  ],
  allowedAttributes: { a: ['href', 'rel'], th: ['align'], td: ['align'], ol: ['start'] },
  allowedSchemes: ['http', 'https', 'mailto'],
  allowedSchemesAppliedToAttributes: ['href'],
  allowProtocolRelative: false,
  transformTags: {
    a: (tagName, { href = '' }) => ({
      tagName,
      // A relative address would depend on where the report is read.
      attribs: /^(https?:|mailto:)/i.test(href)
        ? { href, rel: 'noopener noreferrer nofollow' }
        : ({} as Record<string, string>),
    }),
  },
};

/**
 * Renders a report as HTML that is safe to show: no scripts, styles, images or frames, and links only to http,
 * https and mailto. HTML in the markdown is shown as text, and so is written markdown that would overload the
 * parser.
 */
export async function renderHtml(blocks: readonly Block[]): Promise<string> {
  // Loaded with the first report, to keep cold starts fast.
  const { Marked } = await import('marked');
  const { default: sanitizeHtml } = await import('sanitize-html');
  const marked = new Marked({
    gfm: true,
    async: false,
    renderer: {
      html: ({ text }) => escapeHtml(text),
      image: ({ text }) => escapeHtml(text),
    },
  });
  const render = (block: Block) => {
    if ('svg' in block) return `${block.svg}\n`;
    if ('written' in block && wouldOverloadParser(block.written)) {
      return `<pre>${escapeHtml(block.written)}</pre>\n`;
    }
    return sanitizeHtml(String(marked.parse(joinMarkdown([block]))), allowed);
  };
  return blocks.map(render).join('');
}
