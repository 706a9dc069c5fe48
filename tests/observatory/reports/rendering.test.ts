import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { drawChart } from '../../../lib/observatory/reports/chart.ts';
import { renderHtml } from '../../../lib/observatory/reports/render-html.ts';

import { quote, table } from '../../../lib/text/markdown.ts';

const render = (written: string) => renderHtml([{ written }]);

describe('HTML made from markdown', () => {
  it.each([
    ['HTML', 'a <b onclick="x">b</b>', '<p>a &lt;b onclick="x"&gt;b&lt;/b&gt;</p>\n'],
    [
      'a block of HTML',
      '<iframe src="https://x.example">',
      '&lt;iframe src="https://x.example"&gt;',
    ],
    ['an image', '![alt](https://x.example/p.png)', '<p>alt</p>\n'],
    ['a link with a script', '[a](javascript:alert(1))', '<p><a>a</a></p>\n'],
    ['a hidden script', '[a](java&#10;script:alert(1))', '<p><a>a</a></p>\n'],
    ['a link with data', '[a](data:text/html,x)', '<p><a>a</a></p>\n'],
    ['a link without a scheme', '[a](//x.example)', '<p><a>a</a></p>\n'],
    ['a relative link', '[a](/reports)', '<p><a>a</a></p>\n'],
    [
      'a link to a page',
      '[a](https://x.example/?a=1)',
      '<p><a href="https://x.example/?a=1" rel="noopener noreferrer nofollow">a</a></p>\n',
    ],
    [
      'a link to an address',
      '<ops@x.example>',
      '<p><a href="mailto:ops@x.example" rel="noopener noreferrer nofollow">ops@x.example</a></p>\n',
    ],
  ])('is safe for %s', async (_case, markdown, html) => {
    expect(await render(markdown)).toBe(html);
  });

  it('keeps tables, lists and code', async () => {
    const html = await render('| a |\n|--:|\n| 1 |\n\n1. x\n\n```sh\nls\n```');
    expect(html).toContain('<td align="right">1</td>');
    expect(html).toContain('<ol>\n<li>x</li>\n</ol>');
    expect(html).toContain('<pre><code>ls\n</code></pre>');
  });

  it.each([
    ['nested quotes', '> '.repeat(5_000)],
    ['lists in each other', '1. '.repeat(5_000)],
    ['emphasis that never ends', '**a'.repeat(5_000)],
    ['emphasis between other marks', '&#--\n.@*1. '.repeat(1_666)],
    [
      'a table of 18 million cells',
      `${'|a'.repeat(3_000)}\n${'|-'.repeat(3_000)}${'\n|'.repeat(3_900)}`,
    ],
    ['one item of a list with 6,000 lines', `- a${'\nb'.repeat(6_000)}`],
    ['a word of 100,000 signs', '!'.repeat(100_000)],
    ['a word of 5,000 signs of an image', '!'.repeat(5_000)],
  ])('shows as plain text what would overload the parser: %s', async (_case, markdown) => {
    expect(await render(`${markdown}<b>`)).toMatch(/^<pre>[^<]*&lt;b&gt;<\/pre>\n$/);
  });

  it('is rendered for a long report: 20 sections with lists, emphasis and tables of 10 columns', async () => {
    const row = `|${' *cell* |'.repeat(10)}\n`;
    const section = `## One\n\n- **a** of \`b_c\`\n- d\n\n${row}|${'-|'.repeat(10)}\n${row.repeat(8)}\n`;
    const html = await render(section.repeat(20));
    expect(html).not.toContain('<pre>');
    expect(html.match(/<td><em>cell<\/em><\/td>/g)).toHaveLength(1_600);
  });

  it('is rendered for our own table with any number of markers in its quoted text', async () => {
    const cells = Array.from({ length: 5 }, () => quote('*_~!|'.repeat(60)));
    const html = await renderHtml([
      { markdown: table(['A', 'B', 'C', 'D', 'E'], Array(200).fill(cells)) },
    ]);
    expect(html.match(/<td><code>\*_~!\|\*/g)).toHaveLength(1_000);
  });

  it('contains no forbidden tag or address, whatever the text', async () => {
    const piece = fc.constantFrom(
      ...['<', '>', '"', "'", '[', ']', '(', ')', '!', '`', '|', '\n', '\\', '&', '#', ':', '/'],
      ...['script', 'img src=', 'a href=', 'onerror=', 'javascript:', 'data:', 'svg', 'style', ' '],
    );
    const hostile = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(hostile, async (text) => {
        const html = await render(text);
        const tags = html.match(/<[^>]*>/g) ?? [];
        for (const tag of tags) {
          expect(tag).toMatch(
            /^<\/?(h\d|p|br|hr|blockquote|ul|ol|li|strong|em|del|code|pre|a|table|thead|tbody|tr|th|td)( \/|( (href="(https?:|mailto:)[^"]*"|rel="[a-z ]+"|align="\w+"|start="\d+"))*)>$/,
          );
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('quoted text', () => {
  it('is unchanged outside a table', async () => {
    expect(await renderHtml([{ markdown: `Error: ${quote('a | b \\| `c`')}` }])).toBe(
      '<p>Error: <code>a | b \\| `c`</code></p>\n',
    );
  });

  it('stays in its cell and is unchanged', async () => {
    const piece = fc.constantFrom(
      '`',
      '``',
      '|',
      '\\',
      ' ',
      'a',
      '*',
      '<b>',
      '[x](y)',
      'https://x',
    );
    const hostile = fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join(''));
    await fc.assert(
      fc.asyncProperty(hostile, async (text) => {
        const markdown = table(['Head', 'Next'], [[quote(text), 'end']]);
        const html = await renderHtml([{ markdown }]);
        const cells = [...html.matchAll(/<td>(.*?)<\/td>/gs)].map(([, cell]) => cell);
        expect(cells).toHaveLength(2);
        expect(cells[1]).toBe('end');
        const shown = cells[0]
          ?.replace(/^<code>(.*)<\/code>$/s, '$1')
          .replaceAll('&lt;', '<')
          .replaceAll('&gt;', '>');
        const said = text.trim() === '' ? '–' : text.trim().replaceAll('\\|', '\\ |');
        expect(shown?.replace(/\s+/g, ' ')).toBe(said.replace(/\s+/g, ' '));
      }),
      { numRuns: 500 },
    );
  });

  it('is one line of limited length', () => {
    expect(quote(`a\nb\u202e${'c'.repeat(1_000)}`, 10)).toBe('`a bcccccc…`');
  });
});

describe('the chart', () => {
  const point = { label: '2026-03-01', successRate: 50, duration: 1_000 };

  it('has a bar for each rate and a line for the durations', () => {
    const svg = drawChart([
      { ...point, successRate: 100, duration: 500 },
      point,
      { ...point, successRate: null },
    ]);
    const heights = [...(svg ?? '').matchAll(/<rect [^>]*height="([\d.]+)"/g)].map(([, it]) => it);
    expect(heights).toEqual(['172', '86']);
    expect(svg).toMatch(/<polyline points="[\d.]+,114 [\d.]+,28 [\d.]+,28"/);
  });

  it('is omitted without points', () => {
    expect(drawChart([])).toBeNull();
  });

  it('contains no tags from a label', () => {
    const svg = drawChart([{ ...point, label: '"/><script>alert(1)</script>' }]);
    expect(svg).not.toContain('<script');
  });
});
