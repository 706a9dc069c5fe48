import { beforeAll, describe, expect, it } from 'vitest';
import { hasChromium } from '../support/chromium.ts';
import { ADA } from '../support/observatory-client.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insertLog, insertResult, insertRun } from '../support/records.ts';

// A real browser with the server of `npm start`.

const HOSTILE = '<script>document.title="taken"</script>\u202Egpj.exe';

describe.skipIf(!hasChromium)('the page (skipped without Chromium)', () => {
  const site = usePage({ startsLoggedOut: true });

  const heading = (name: string | RegExp) => site.page.getByRole('heading', { name, level: 1 });

  describe('logging in', () => {
    it('works with the printed link, but only once', async () => {
      const { context, page } = site;
      const link = site.world.server.issueLoginLink() ?? '';
      await page.goto(link);
      await heading('Overview').waitFor();
      expect(page.url()).toBe(`${site.world.server.url}/app/`);
      await context.clearCookies();
      await page.goto('about:blank');
      await page.goto(link);
      await page.getByText('This login link has already been used').waitFor();
    });

    it('works with a password, and leads to the requested page', async () => {
      const { open, page } = site;
      await open('/app/runs');
      await page.getByLabel('User name').fill(ADA.username);
      await page.getByRole('textbox', { name: 'Password' }).fill('wrong');
      await page.getByRole('button', { name: 'Log in' }).click();
      await page.getByText('Wrong user name or password').waitFor();
      await page.getByRole('textbox', { name: 'Password' }).fill(ADA.password);
      await page.getByRole('button', { name: 'Log in' }).click();
      await heading('Runs').waitFor();
      expect(page.url()).toBe(`${site.world.server.url}/app/runs`);
    });

    it('leads back to the same place after the session has expired', async () => {
      const { context, logIn, open, page } = site;
      await logIn();
      await open('/app/runs');
      await heading('Runs').waitFor();
      await page.waitForLoadState('networkidle');
      // Browsers do the same when the session expires.
      await context.clearCookies();
      const username = page.getByRole('textbox', { name: 'User name' });
      // The page of runs may have refreshed, and noticed, before the link is followed.
      await page.getByRole('link', { name: 'Repositories' }).or(username).first().click();
      await username.fill(ADA.username);
      await page.getByRole('textbox', { name: 'Password' }).fill(ADA.password);
      await page.waitForLoadState('networkidle');
      const place = new URL(page.url()).searchParams.get('from') ?? '';
      expect(place).toMatch(/^\/(runs|repositories)$/);
      await page.getByRole('button', { name: 'Log in' }).click();
      await page.waitForURL((url) => url.pathname === `/app${place}`);
    });

    it('leads only to a place on the page, whatever its address says', async () => {
      const { open, page } = site;
      await open('/app/login?from=/../observatory/chat?question=hello');
      await page.getByRole('textbox', { name: 'User name' }).fill(ADA.username);
      await page.getByRole('textbox', { name: 'Password' }).fill(ADA.password);
      await page.getByRole('button', { name: 'Log in' }).click();
      await heading('Overview').waitFor();
      expect(new URL(page.url()).pathname).toBe('/app/');
    });

    it('is required again after logging out', async () => {
      const { logIn, open, page } = site;
      await logIn();
      await open('/app/');
      await page.getByRole('button', { name: 'Log out' }).click();
      await page.getByRole('button', { name: 'Log in' }).waitFor();
      await open('/app/');
      await page.getByRole('button', { name: 'Log in' }).waitFor();
    });
  });

  it('opens at the address of the server', async () => {
    const { open, page } = site;
    await open('/');
    await page.getByRole('button', { name: 'Log in' }).waitFor();
    expect(new URL(page.url()).pathname).toBe('/app/login');
  });

  it('shows how to make the first backup', async () => {
    const { logIn, open, page } = site;
    await logIn();
    await open('/app/');
    await page.getByRole('heading', { name: 'Set up your backups' }).waitFor();
  });

  describe('with backups', () => {
    let good: number;
    let bad: number;

    beforeAll(async () => {
      const { db } = site;
      good = await insertRun(db, { status: 'completed', total_repos: 2, successful: 2 });
      await insertResult(db, good, 'acme/api', { status: 'completed' });
      bad = await insertRun(db, { status: 'completed', total_repos: 2, successful: 1, failed: 1 });
      await insertResult(db, bad, 'acme/web', { status: 'failed', error_message: HOSTILE });
      await insertLog(db, {
        run_id: bad,
        level: 'error',
        message: HOSTILE,
        repository: 'acme/web',
      });
      await insertLog(db, { run_id: bad, level: 'info', message: 'x'.repeat(10_000) });
    });

    it('states the worst problem first', async () => {
      const { logIn, open, page } = site;
      await logIn();
      await open('/app/');
      await page.getByText('1 of 2', { exact: true }).waitFor();
      const state = page.getByRole('status', { name: 'State of the backups' });
      await state.getByText('acme/web was never backed up').waitFor();
      await page.getByText('Needs attention').waitFor();
      await state.getByRole('link', { name: `See run #${bad}` }).click();
      await heading(`Run #${bad}`).waitFor();
      await page.getByText('With failures').waitFor();
    });

    it('advises on a failure in terms of the page, not of tools', async () => {
      const { logIn, open, page } = site;
      await logIn();
      await open(`/app/runs/${bad}`);
      await page.getByText('Record what helped below').waitFor();
      await page.getByText('use “Back up now” on the repository’s page').waitFor();
      expect(
        await page
          .getByRole('listitem')
          .getByText(/[a-z]_[a-z]/)
          .allTextContents(),
      ).toEqual([]);
    });

    it('lists only runs with failures on request, even after a reload', async () => {
      const { logIn, open, page } = site;
      await logIn();
      await open('/app/runs');
      await page.getByRole('link', { name: `#${good}`, exact: true }).waitFor();
      await page.getByRole('switch', { name: 'Failures only' }).click();
      await page
        .getByRole('link', { name: `#${good}`, exact: true })
        .waitFor({ state: 'detached' });
      await page.reload();
      await page.getByRole('link', { name: `#${bad}`, exact: true }).waitFor();
      expect(await page.getByRole('link', { name: `#${good}`, exact: true }).count()).toBe(0);
    });

    it('shows hostile messages as plain text', async () => {
      const { complaints, logIn, open, page } = site;
      await logIn();
      await open(`/app/runs/${bad}`);
      await page.getByRole('log').getByText('gpj.exe').waitFor();
      await open('/app/logs');
      await page.getByRole('log').getByText('gpj.exe').waitFor();
      expect(await page.title()).toBe('Logs · Backup Observatory');
      expect(complaints).toEqual([]);
    });

    it('shows new log lines that match the filters in the address', async () => {
      const { logIn, open, page } = site;
      await logIn();
      await open('/app/logs?level=warn');
      await page.getByText('Live', { exact: true }).waitFor();
      await insertLog(site.db, {
        run_id: bad,
        level: 'warn',
        message: 'the disk is nearly full',
      });
      await page.getByRole('log').getByText('the disk is nearly full').waitFor();
      expect(await page.getByRole('log').getByText('gpj.exe').count()).toBe(0);
    });

    const places = ['/app/', '/app/runs', '/app/repositories', '/app/logs', '/app/login'];
    it.each([...places, 'a run'])('passes the axe checks on %s', async (place) => {
      const { complaints, logIn, open, page } = site;
      await logIn();
      await open(place === 'a run' ? `/app/runs/${bad}` : place);
      expect(await findViolations(page)).toEqual([]);
      expect(complaints).toEqual([]);
    });

    it('fits a phone after a reload, without scrolling sideways', async () => {
      const { logIn, open, page } = site;
      await page.setViewportSize({ width: 390, height: 800 });
      await logIn();
      await open(`/app/runs/${bad}`);
      await page.reload();
      await heading(`Run #${bad}`).waitFor();
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect(width).toBeLessThanOrEqual(390);
    });

    it('offers to switch from the theme that the system chose', async () => {
      const { logIn, open, page } = site;
      await logIn();
      await page.emulateMedia({ colorScheme: 'dark' });
      await open('/app/');
      await page.getByRole('button', { name: 'Use the light theme' }).click();
      await page.getByRole('button', { name: 'Use the dark theme' }).waitFor();
    });

    it('can be navigated by keyboard', async () => {
      const { logIn, open, page } = site;
      await logIn();
      await open('/app/');
      await heading('Overview').waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('textbox', { name: 'Go to' }).waitFor();
      await page.keyboard.type('Reposi');
      await page.getByRole('button', { name: 'Repositories' }).waitFor();
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('Enter');
      await heading('Repositories').waitFor();
      await page.getByText('acme/api').waitFor();
    });

    it('finds a repository and a run by letters typed before the palette has opened', async () => {
      const { logIn, open, page } = site;
      await logIn();
      await open('/app/');
      await heading('Overview').waitFor();
      const field = page.getByRole('textbox', { name: 'Go to' });
      for (const [typed, shown, title] of [
        ['cme/ap', 'acme/api', 'acme/api'],
        ['run 1', 'Run #1', 'Run #1'],
        ['set', 'Settings: Alerts', 'Settings'],
      ] as const) {
        await page.keyboard.press('Control+k');
        await page.keyboard.type(typed);
        await field.waitFor();
        expect(await field.inputValue()).toBe(typed);
        await page.getByRole('button', { name: shown }).first().waitFor();
        if (typed === 'run 1') await page.keyboard.press('Enter');
        else await page.getByRole('button', { name: shown }).first().click();
        await heading(title).waitFor();
      }
    });

    it('pages through the repositories and the failures of a large run', async () => {
      const { logIn, open, page } = site;
      const { db } = site;
      await logIn();
      const run = await insertRun(db, { status: 'completed', total_repos: 120, failed: 60 });
      for (let n = 101; n <= 160; n++) {
        await insertResult(db, run, `large/good-${n}`, { status: 'completed' });
        await insertResult(db, run, `large/bad-${n}`, { status: 'failed', error_message: 'away' });
      }
      await open(`/app/runs/${run}`);
      for (const kind of ['bad', 'good']) {
        const links = page.getByRole('link', { name: `large/${kind}-` });
        await links.first().waitFor();
        expect(await links.count()).toBe(50);
      }
      await page.getByRole('alert').getByRole('button', { name: 'next page' }).click();
      await page.getByRole('link', { name: 'large/bad-160' }).waitFor();
    });
  });

  it('at /docs reads the description of the API without a warning, and asks no other server', async () => {
    const { page } = site;
    const { host } = new URL(site.world.server.url);
    const warnings: string[] = [];
    const foreign: string[] = [];
    page.on('console', (message) => {
      if (message.type() === 'warning') warnings.push(message.text());
    });
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (url.protocol.startsWith('http') && url.host !== host) foreign.push(url.href);
    });
    await page.goto(`http://${host}/docs`);
    await page.getByText('/api/backups/latest').first().waitFor();
    await page.waitForLoadState('networkidle');
    expect([...warnings, ...foreign, ...site.complaints]).toEqual([]);
  });
});
