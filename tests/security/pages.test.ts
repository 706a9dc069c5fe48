import { describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import {
  type LocalPage,
  type PageUrls,
  serveLocalPage,
} from '../../lib/worker/logins/local-page.ts';
import { visit } from '../support/browser.ts';
import { createTestClock } from '../support/clock.ts';

// Text in pages shown by a browser stays text. (Reports and mails: tests/observatory/reports.)

const hostile = `<script>alert(1)</script><img src=x onerror=alert(1)>"'><a href="javascript:alert(1)">&amp;`;
const tags = /<script>alert|<img|<a /;

/** Serves a page of the login commands, and returns to it once. */
async function visitPages(
  start: LocalPage,
  finish: () => Promise<{ title: string; line: string; value: null }>,
) {
  const urls = Promise.withResolvers<PageUrls>();
  const done = serveLocalPage({
    clock: createTestClock(),
    signal: new AbortController().signal,
    person: { say: () => undefined, strong: String, offer: async () => undefined },
    start: () => start,
    opened(known) {
      urls.resolve(known);
      return known.start;
    },
    finish,
  }).catch((error: unknown) => error);
  const { start: first, callback } = await urls.promise;
  const shown = await visit(first);
  const ended = await visit(`${callback}&code=x`);
  await done;
  return { shown, ended };
}

const page = (changes: Partial<LocalPage> = {}): LocalPage => ({
  status: 200,
  title: 'A title',
  lines: [],
  ...changes,
});

describe('a page of the login commands', () => {
  it('shows titles, lines and fields as text', async () => {
    const form = {
      action: 'https://git.example/new',
      fields: { [hostile]: hostile },
      button: hostile,
    };
    const { shown, ended } = await visitPages(
      page({ title: hostile, lines: [hostile], form }),
      async () => ({ title: 'A title', line: hostile, value: null }),
    );
    for (const { text } of [shown, ended]) {
      expect(text).not.toMatch(tags);
      expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;');
    }
    expect(shown.text.match(/<input /g)).toHaveLength(1);
  });

  it('shows errors as text', async () => {
    const { ended } = await visitPages(page(), () =>
      Promise.reject(new AppError('UNAUTHORIZED', `the gateway says ${hostile}`)),
    );
    expect(ended.text).not.toMatch(tags);
    expect(ended.text).toContain('&lt;script&gt;');
  });
});
