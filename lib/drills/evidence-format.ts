import { escapeHtml } from '../text/escape-html.ts';
import { quote, tableRow } from '../text/markdown.ts';

type Rows = () => AsyncIterable<readonly string[]>;

/** How evidence is formatted. All texts are plain, and each format escapes them. */
export interface EvidenceFormat {
  contentType: string;
  extension: string;
  begin(title: string): string;
  heading(text: string): string;
  list(items: readonly string[]): string;
  table(head: readonly string[], rows: Rows): AsyncIterable<string>;
  end(): string;
}

const markdown: EvidenceFormat = {
  contentType: 'text/markdown; charset=utf-8',
  extension: 'md',
  begin: (title) => `# ${title}\n\n`,
  heading: (text) => `\n## ${text}\n\n`,
  list: (items) => items.map((item) => `- ${item}\n`).join(''),
  async *table(head, rows) {
    yield `${tableRow(head)}\n${tableRow(head.map(() => '---'))}\n`;
    for await (const row of rows()) {
      yield `${tableRow(row.map((cell) => (cell === '' ? '' : quote(cell, 600))))}\n`;
    }
  },
  end: () => '',
};

/** Loads nothing from elsewhere. */
const STYLE =
  'body{font:14px/1.5 system-ui,sans-serif;margin:2rem;color:#111;background:#fff}table{border-collapse:collapse;font-size:12px}th,td{border:1px solid #bbb;padding:.25rem .5rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}th{background:#eee}';

const html: EvidenceFormat = {
  contentType: 'text/html; charset=utf-8',
  extension: 'html',
  begin: (title) =>
    `<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width">\n<title>${escapeHtml(title)}</title>\n<style>${STYLE}</style>\n</head>\n<body>\n<h1>${escapeHtml(title)}</h1>\n`,
  heading: (text) => `<h2>${escapeHtml(text)}</h2>\n`,
  list: (items) => `<ul>\n${items.map((item) => `<li>${escapeHtml(item)}</li>\n`).join('')}</ul>\n`,
  async *table(head, rows) {
    const line = (tag: string, cells: readonly string[]) =>
      `<tr>${cells.map((cell) => `<${tag}><bdi>${escapeHtml(cell)}</bdi></${tag}>`).join('')}</tr>\n`;
    yield `<table>\n<thead>${line('th', head)}</thead>\n<tbody>\n`;
    for await (const row of rows()) yield line('td', row);
    yield '</tbody>\n</table>\n';
  },
  end: () => '</body>\n</html>\n',
};

/** The formats of evidence by their names. */
export const evidenceFormats = { markdown, html } as const;
