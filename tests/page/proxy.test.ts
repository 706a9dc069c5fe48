import type { BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Environment } from '../../lib/config/read.ts';
import { hasChromium } from '../support/chromium.ts';
import { hasNginx, type Nginx, startNginx } from '../support/nginx.ts';
import { type PageWorld, startPageWorld } from '../support/page.ts';
import { insertLog, insertResult, insertRun } from '../support/records.ts';

// The page behind a real nginx, in a real browser.

/** In the order of nginx: what the location passes on, and how the server learns the path. */
const ways: [string, Environment, (port: string) => string][] = [
  ['keeps the path', { BASE_PATH: '/backup/' }, (port) => `proxy_pass http://127.0.0.1:${port};`],
  ['removes the path', { BASE_PATH: '/backup' }, (port) => `proxy_pass http://127.0.0.1:${port}/;`],
  [
    'removes the path and names it',
    { TRUSTED_PROXIES: '127.0.0.1' },
    (port) => `proxy_pass http://127.0.0.1:${port}/; proxy_set_header X-Forwarded-Prefix /backup;`,
  ],
];

describe.skipIf(!hasChromium || !hasNginx).each(ways)(
  'below a path, when the proxy %s (skipped without Chromium or nginx)',
  (_way, environment, pass) => {
    let world: PageWorld;
    let nginx: Nginx;
    let site: string;
    let context: BrowserContext;
    let page: Page;
    let complaints: string[];
    const asked: string[] = [];

    beforeAll(async () => {
      world = await startPageWorld({
        ...environment,
        MCP_AUTH_TOKEN: 'a-token-of-39-characters-of-this-test-1',
      });
      const { port } = new URL(world.server.url);
      nginx = await startNginx(
        `location /backup/ { ${pass(port)} proxy_set_header Host $http_host; }
         location = /backup { return 302 /backup/; }`,
      );
      site = `http://nas.test:${nginx.port}`;
      const { db } = world.database;
      const run = await insertRun(db, { status: 'completed', total_repos: 1, successful: 1 });
      await insertResult(db, run, 'acme/app', { status: 'completed' });
      ({ context, page, complaints } = await world.openWindow());
      context.on('request', (request) => asked.push(request.url()));
    });
    afterAll(async () => {
      await nginx.close();
      await world.close();
    });

    it('logs in with the login link, on plain http by name', async () => {
      const [, code] = world.server.issueLoginLink()?.split('#') ?? [];
      await page.goto(`${site}/backup/app/login#${code}`);
      await page.getByRole('heading', { name: 'Overview' }).waitFor();
      expect(new URL(page.url()).pathname).toBe('/backup/app/');
      const [cookie] = await context.cookies(`${site}/backup/`);
      expect(cookie).toMatchObject({ name: 'backup-observatory', path: '/backup', httpOnly: true });
      expect(await context.cookies(`${site}/other`)).toEqual([]);
    });

    it.each(['/backup', '/backup/'])('opens at %s', async (path) => {
      await page.goto(`${site}${path}`);
      await page.getByRole('status', { name: 'State of the backups' }).waitFor();
      expect(page.url()).toBe(`${site}/backup/app/`);
    });

    it('opens a place deep within the page, with what it loads later', async () => {
      await page.goto(`${site}/backup/app/repositories/acme/app?tab=badges`);
      await page.getByRole('button', { name: 'Create a badge' }).click();
      await page.getByRole('img', { name: 'The new badge' }).waitFor();
      await page.waitForFunction(
        'document.querySelector(\'img[alt="The new badge"]\').naturalWidth > 0',
      );
      await page.getByText(`![backup](${site}/backup/badges/`).waitFor();
    });

    it('shows new log lines as they arrive', async () => {
      await page.goto(`${site}/backup/app/logs`);
      await page.getByText('Live', { exact: true }).waitFor();
      await insertLog(world.database.db, { message: 'through the proxy', level: 'info' });
      await page.getByRole('log').getByText('through the proxy').waitFor();
    });

    it('shows agents the address of the MCP server', async () => {
      await page.goto(`${site}/backup/app/settings?tab=agents`);
      await page
        .getByText(`claude mcp add --transport http backup-observatory ${site}/backup/mcp`)
        .waitFor();
    });

    it('copies a text, although the browser offers no clipboard over plain http', async () => {
      await page.goto(`${site}/backup/app/settings?tab=agents`);
      await page.getByRole('button', { name: 'Copy for Claude Code' }).click();
      await page.getByRole('button', { name: 'Copied' }).waitFor();
      await page.evaluate(
        "document.body.append(Object.assign(document.createElement('textarea'), { id: 'pasted' }))",
      );
      await page.locator('#pasted').press('Control+V');
      expect(await page.locator('#pasted').inputValue()).toContain(`${site}/backup/mcp`);
    });

    it('shows the documentation of the API, with its server', async () => {
      await page.goto(`${site}/backup/app/`);
      await page.getByRole('link', { name: 'API documentation' }).click();
      await page.getByRole('heading', { name: 'Backup Observatory', level: 1 }).waitFor();
      expect(new URL(page.url()).pathname).toBe('/backup/docs');
      const document = await page.evaluate("fetch('openapi.json').then((it) => it.json())");
      expect(document).toMatchObject({
        servers: [{ url: '/backup' }],
        paths: {
          '/auth/login': { servers: [{ url: '/backup' }, { url: '/backup/observatory' }] },
        },
      });
    });

    it('returns after a login to the place that needed it', async () => {
      await context.clearCookies();
      await page.goto(`${site}/backup/app/runs`);
      await page.locator('[name=username]').fill('ada');
      await page.locator('[name=password]').fill('the password of ada');
      await page.getByRole('button', { name: 'Log in' }).click();
      await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
      expect(new URL(page.url()).pathname).toBe('/backup/app/runs');
    });

    it('asks for nothing outside of the path, and the browser complains about nothing', async () => {
      expect(
        asked.filter((url) => url.startsWith('http') && !url.startsWith(`${site}/backup`)),
      ).toEqual([]);
      // The repository has no archive, and the login was needed.
      expect(complaints.filter((text) => !/status of 40[14]/.test(text))).toEqual([]);
    });

    it.runIf(environment.BASE_PATH !== undefined)(
      'moves to the path when it is opened at the server itself',
      async () => {
        const { origin } = new URL(world.server.url);
        await page.goto(`${origin}/app/runs`);
        await page.getByRole('button', { name: 'Log in' }).waitFor();
        expect(new URL(page.url()).pathname).toBe('/backup/app/login');
      },
    );
  },
);

describe.skipIf(!hasChromium || !hasNginx)('a proxy (skipped without Chromium or nginx)', () => {
  let world: PageWorld;
  beforeAll(async () => {
    world = await startPageWorld();
  });
  afterAll(() => world.close());

  it.each([
    ['replaces Host', '', 'let it pass the header on (nginx: proxy_set_header Host $http_host;)'],
    [
      'drops the port of Host',
      'proxy_set_header Host $host;',
      'let it pass the header on (nginx: proxy_set_header Host $http_host;)',
    ],
    [
      'claims https',
      'proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto https;',
      'the proxy claims https (X-Forwarded-Proto), but the browser uses http',
    ],
    [
      'drops the cookie',
      'proxy_set_header Host $http_host; proxy_hide_header Set-Cookie;',
      'your browser does not send the session cookie back',
    ],
  ])('that %s is named as the reason on the login page', async (_what, lines, reason) => {
    const { origin } = new URL(world.server.url);
    const nginx = await startNginx(`location / { proxy_pass ${origin}; ${lines} }`);
    const { context, page } = await world.openWindow();
    await page.goto(`http://nas.test:${nginx.port}/app/`);
    await page.locator('[name=username]').fill('ada');
    await page.locator('[name=password]').fill('the password of ada');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').getByText(reason).waitFor();
    expect(new URL(page.url()).pathname).toBe('/app/login');
    await context.close();
    await nginx.close();
  });
});
