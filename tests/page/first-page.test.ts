import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasChromium } from '../support/chromium.ts';
import { usePage } from '../support/page.ts';
import { insertResult, insertRun } from '../support/records.ts';

// What makes the first page fast, in a real browser with the server of `npm start`.

describe.skipIf(!hasChromium)('the first page (skipped without Chromium)', () => {
  const site = usePage();

  beforeAll(async () => {
    const { db } = site;
    const run = await insertRun(db, { status: 'completed', total_repos: 1, successful: 1 });
    await insertResult(db, run, 'acme/api', { status: 'completed' });
  });

  const state = () => site.page.getByRole('status', { name: 'State of the backups' });

  async function findScript(): Promise<string> {
    const html = await (await fetch(`${site.world.server.url}/app/`)).text();
    const scripts = [...html.matchAll(/\/app\/assets\/[^"]+\.js/g)].map(([path]) => path);
    // The small start script comes first.
    expect(scripts).toEqual([
      expect.stringContaining('/start-'),
      expect.stringContaining('/index-'),
    ]);
    return `${site.world.server.url}${scripts[1]}`;
  }

  it('requests its data once, while its code is still loading', async () => {
    const { open, page } = site;
    const first = ['/auth/me', '/api/overview'];
    const asked: string[] = [];
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url());
      asked.push(`${pathname}${search}`);
    });
    const all = first.map((path) => page.waitForRequest((request) => request.url().endsWith(path)));
    // The code loads only once all data has been requested.
    await page.route(await findScript(), async (route) => {
      await Promise.all(all);
      await route.continue();
    });
    await open('/app/');
    await state().getByText('The repository is backed up.').waitFor();
    for (const path of first) expect(asked.filter((it) => it === path)).toEqual([path]);
  });

  it.each([
    ['light', 1_280],
    ['dark', 1_280],
    ['light', 390],
  ] as const)(
    'shows the state of the backups before its code has loaded, just as after it (%s, %i pixels wide)',
    async (theme, width) => {
      const { open, page } = site;
      await page.emulateMedia({ colorScheme: theme });
      await page.setViewportSize({ width, height: 800 });
      const codeMayCome = Promise.withResolvers<void>();
      await page.route(await findScript(), async (route) => {
        await codeMayCome.promise;
        await route.continue();
      });
      // Resolves only once the code has loaded.
      const opened = open('/app/');
      const first = page.locator('#first');
      await first.getByText('The repository is backed up.').waitFor();
      const before = await page.evaluate(looks('#first'));
      codeMayCome.resolve();
      await opened;
      await state().waitFor();
      await first.waitFor({ state: 'detached' });
      expect(before).toEqual(await page.evaluate(looks('#root main')));
    },
  );

  it.each(['/app/', '/app/runs'])(
    'reveals nothing about the backups without a login at %s',
    async (path) => {
      const { context, open, page } = site;
      await context.clearCookies();
      await open(path);
      await page.getByRole('button', { name: 'Log in' }).waitFor();
      expect(await page.locator('#first').count()).toBe(0);
    },
  );

  it('is not covered by the early sentence if it leads to the login', async () => {
    const { open, page } = site;
    await page.route('**/auth/me', (route) => route.fulfill({ status: 401, json: {} }));
    await open('/app/');
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    await page.locator('#first').waitFor({ state: 'detached' });
  });

  it('is not covered by the early sentence if its data arrives after its code', async () => {
    const { open, page } = site;
    const answerMayCome = Promise.withResolvers<void>();
    await page.route('**/api/overview', async (route) => {
      await answerMayCome.promise;
      await route.continue();
    });
    await open('/app/');
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    answerMayCome.resolve();
    await state().getByText('The repository is backed up.').waitFor();
    // The early sentence would cover this figure.
    await page.getByText('Good repositories').click({ trial: true });
    expect(await page.locator('#first').count()).toBe(0);
  });

  it('keeps its menu at an unknown address', async () => {
    const { open, page } = site;
    await open('/app/repos/acme/api');
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor();
    await page.getByRole('link', { name: 'Go to the overview' }).waitFor();
    await page.getByRole('link', { name: 'Repositories' }).click();
    await page.getByRole('heading', { level: 1, name: 'Repositories' }).waitFor();
  });

  it('is not covered by the early sentence if the login cannot be checked', async () => {
    const { open, page } = site;
    await page.route('**/auth/me', (route) => route.fulfill({ status: 500, json: {} }));
    await open('/app/');
    await page.getByRole('alert').getByText('the server answered 500').waitFor();
    expect(await page.locator('#first').count()).toBe(0);
  });

  it('shows the overview after a login, despite the early requests before it', async () => {
    const { context, open, page } = site;
    await context.clearCookies();
    await open('/app/');
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    await site.logIn();
    await page.evaluate('history.pushState(null, "", "/app/")');
    await page.evaluate('dispatchEvent(new PopStateEvent("popstate"))');
    await state().waitFor();
  });

  it.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const)(
    'has its code compressed with %s for browsers that accept it',
    async (encoding, decompress) => {
      const url = await findScript();
      const plain = await site.context.request.get(url, {
        headers: { 'Accept-Encoding': 'identity' },
      });
      expect(plain.headers()['content-encoding']).toBeUndefined();
      const { body, headers } = await getRaw(url, encoding);
      expect(headers['content-encoding']).toBe(encoding);
      expect(headers.vary).toContain('Accept-Encoding');
      expect(headers['content-type']).toContain('javascript');
      expect(decompress(body).equals(await plain.body())).toBe(true);
    },
  );

  describe('hints', () => {
    it('show the exact time when the pointer is on an age', async () => {
      const { open, page } = site;
      await open('/app/runs');
      const age = page.locator('time').first();
      await age.hover();
      const exact = await age.getAttribute('data-hint');
      await page.getByRole('tooltip', { name: exact ?? '', exact: true }).waitFor();
      await page.getByRole('heading', { level: 1 }).hover();
      await page.getByRole('tooltip').waitFor({ state: 'detached' });
    });

    it('appear on keyboard focus too, until Escape', async () => {
      const { open, page } = site;
      await open('/app/');
      // The state is shown before the code has loaded, but no button is.
      await page.getByRole('button', { name: 'Go to' }).waitFor();
      // The first stop is the name of the product.
      await page.keyboard.press('Tab');
      await page.keyboard.press('Tab');
      expect(await page.locator(':focus').getAttribute('aria-label')).toBe('Go to');
      await page.getByRole('tooltip').getByText('Go to… (Ctrl+K)').waitFor();
      await page.keyboard.press('Escape');
      await page.getByRole('tooltip').waitFor({ state: 'detached' });
    });
  });
});

/**
 * The position and the style of the heading and of the sentence below an element. The height of the box is left out,
 * because on a phone the links of the overview make it higher. A string, because it runs in the browser.
 */
const looks = (
  within: string,
) => `['h1', '[aria-label="State of the backups"] bdi'].map((selector) => {
  const element = document.querySelector('${within}').querySelector(selector);
  const place = (of) => {
    const { x, y, width } = of.getBoundingClientRect();
    return { x, y, width };
  };
  const text = document.createRange();
  text.selectNodeContents(element);
  const { color, font } = getComputedStyle(element);
  const box = element.closest('[aria-label]');
  if (box === null) return { text: place(text), color, font };
  const { backgroundColor, borderRadius } = getComputedStyle(box);
  return { text: place(text), color, font, box: place(box), backgroundColor, borderRadius };
})`;

/** The response as it comes over the wire, without decompression. */
async function getRaw(url: string, encoding: string) {
  const request = get(url, { headers: { 'Accept-Encoding': encoding } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { headers: response.headers, body: await buffer(response) };
}
