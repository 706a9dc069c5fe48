import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashPassword } from '../../lib/security/password.ts';
import { addUser } from '../../lib/users/users.ts';
import { hasChromium } from '../support/chromium.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { findViolations, usePage, withPage } from '../support/page.ts';
import { QUICK_COST } from '../support/passwords.ts';
import { sql } from '../support/records.ts';

// A real browser with the server of `npm start`, and a stand-in for the model gateway.

const TOKEN = 'a-token-of-mcp-that-is-long-enough-00001';
const PASSWORD = 'the password of grace';

describe.skipIf(!hasChromium)('the settings (skipped without Chromium)', () => {
  let gateway: Gateway;

  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());
  const site = usePage({
    environment: () => ({
      GATEWAY_BASE_URL: gateway.url,
      MCP_AUTH_TOKEN: TOKEN,
    }),
    startsLoggedOut: true,
  });

  const button = (name: string) => site.page.getByRole('button', { name, exact: true });
  const openTab = async (tab: string) => {
    await site.logIn();
    await site.open(`/app/settings?tab=${tab}`);
  };

  it('are in the navigation, and keep their tab in the address', async () => {
    const { complaints, logIn, open, page } = site;
    await logIn();
    await open('/app/');
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('tab', { name: 'Users' }).click();
    await page.getByText('owns this installation').waitFor();
    await page.reload();
    await page.getByText('owns this installation').waitFor();
    expect(complaints).toEqual([]);
  });

  describe('for users', () => {
    beforeEach(async () => {
      await sql(site.db, 'DELETE FROM users');
    });

    async function logInAs(username: string, password: string): Promise<void> {
      const { open, page } = site;
      await open('/app/settings?tab=users');
      await page.getByLabel('User name').fill(username);
      await page.getByRole('textbox', { name: 'Password' }).fill(password);
      await button('Log in').click();
      await page.getByRole('tab', { name: 'Users' }).waitFor();
    }

    it('let the owner add users, change their passwords and remove them', async () => {
      const { complaints, page } = site;
      await openTab('users');
      await button('Add a user').click();
      await page.getByLabel('User name').fill('grace');
      await page.getByRole('textbox', { name: 'New password' }).fill(PASSWORD);
      await button('Add').click();
      await page.getByText('grace can log in now').waitFor();
      await button('Change password of grace').click();
      await page.getByRole('textbox', { name: 'New password' }).fill('another good password');
      await button('Change').click();
      await page.getByText('The password was changed').waitFor();
      expect(complaints).toEqual([]);

      await site.context.clearCookies();
      await logInAs('grace', 'another good password');
      await site.context.clearCookies();

      await openTab('users');
      await button('Remove grace').click();
      await button('Remove').click();
      await page.getByText('grace was removed').waitFor();
      expect(await sql(site.db, 'SELECT username FROM users')).toEqual([]);
    });

    it('show other users only themselves, and let them change their password with the old one', async () => {
      const { page } = site;
      for (const name of ['grace', 'linus']) {
        await addUser(site.db, name, await hashPassword(PASSWORD, QUICK_COST));
      }
      await logInAs('grace', PASSWORD);
      await page.getByText('You see only yourself').waitFor();
      expect(await page.getByText('linus').count()).toBe(0);
      expect(await button('Add a user').count()).toBe(0);
      await button('Change password of grace').click();
      await page.getByRole('textbox', { name: 'Current password' }).fill('not the password');
      await page.getByRole('textbox', { name: 'New password' }).fill('another good password');
      await button('Change').click();
      await page.getByText('the current password is wrong').waitFor();
      await page.getByRole('textbox', { name: 'Current password' }).fill(PASSWORD);
      await button('Change').click();
      await page.getByText('The password was changed').waitFor();
      // Still logged in: the change has replaced the cookie.
      await page.reload();
      await page.getByText('You see only yourself').waitFor();
    });
  });

  describe('for agents', () => {
    it('offer a snippet for each client, with the address but without the token', async () => {
      const { complaints, context, page } = site;
      await context.grantPermissions(['clipboard-read', 'clipboard-write']);
      await openTab('agents');
      const clients = [
        ...['Claude Code', 'Claude Desktop', 'Cursor', 'VS Code', 'Codex', 'Gemini CLI'],
        ...['Any other client', 'curl'],
      ];
      for (const client of clients) {
        const control = page.getByRole('button', { name: client, exact: true });
        if ((await control.getAttribute('aria-expanded')) !== 'true') await control.click();
        await button(`Copy for ${client}`).click();
        await button('Copied').waitFor();
        const copied = await page.evaluate<string>('navigator.clipboard.readText()');
        const address = client === 'Claude Desktop' ? '"mcp"' : `${site.world.server.url}/mcp`;
        expect(copied, client).toContain(address);
        expect(copied).not.toContain(TOKEN);
      }
      expect(complaints).toEqual([]);
    });

    it('offer a curl command that works with the token', async () => {
      const { page } = site;
      await openTab('agents');
      await page.getByRole('button', { name: 'curl', exact: true }).click();
      const text = await page.getByText('curl -s').innerText();
      const url = /https?:\S+/.exec(text)?.[0] ?? '';
      const headers = [...text.matchAll(/-H (["'])(.+?): (.+?)\1/g)].map(
        ([, , name = '', value = '']) => [name, value.replace('YOUR_MCP_AUTH_TOKEN', TOKEN)],
      );
      const body = /-d '(.+)'/.exec(text)?.[1] ?? '';
      const answer = await fetch(url, {
        method: 'POST',
        headers: Object.fromEntries(headers),
        body,
      });
      expect([answer.status, await answer.text()]).toEqual([
        200,
        expect.stringContaining('diagnose_backup_failure'),
      ]);
    });
  });

  const tabs = ['models', 'search', 'users', 'alerts', 'agents'];
  it.each(tabs)('pass the axe checks on the tab %s', async (tab) => {
    const { complaints, page } = site;
    await openTab(tab);
    await page.getByRole('tabpanel').getByRole('heading').first().waitFor();
    expect(await findViolations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('pass the axe checks in a dialog and in the window of the gateway', async () => {
    const { open, page } = site;
    await openTab('users');
    await button('Add a user').click();
    await page.getByRole('textbox', { name: 'New password' }).waitFor();
    expect(await findViolations(page)).toEqual([]);
    await open('/app/settings/gateway/any');
    await page.getByText('The gateway returned no code').waitFor();
    expect(await findViolations(page)).toEqual([]);
  });

  it('fit the width of a phone', async () => {
    const { open, page } = site;
    await page.setViewportSize({ width: 390, height: 800 });
    await openTab('models');
    for (const tab of tabs) {
      await open(`/app/settings?tab=${tab}`);
      await page.getByRole('tabpanel').getByRole('heading').first().waitFor();
      await page.waitForLoadState('networkidle');
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect(width, tab).toBeLessThanOrEqual(390);
      const boxes = (await page.getByRole('tab').all()).map((it) => it.boundingBox());
      const rows = new Set((await Promise.all(boxes)).map((box) => box?.y));
      expect(rows.size, 'rows of tabs').toBe(1);
    }
  });
});

describe.skipIf(!hasChromium)('the settings without secrets (skipped without Chromium)', () => {
  it('name the missing variables', async () => {
    const environment = {
      CREDENTIALS_ENCRYPTION_KEY: '',
      GATEWAY_BASE_URL: 'http://127.0.0.1:9',
    };
    await withPage(environment, async ({ open, page }) => {
      await open('/app/settings');
      await page.getByText('CREDENTIALS_ENCRYPTION_KEY not set').waitFor();
      expect(await page.getByRole('button', { name: 'Connect your key' }).count()).toBe(0);
      // An unreachable gateway is not an error of the settings.
      await page.getByText("Not available: the gateway's models").waitFor();
      expect(await page.getByText('Something went wrong').count()).toBe(0);
      await open('/app/settings?tab=agents');
      await page.getByText('MCP_AUTH_TOKEN not set').waitFor();
    });
  });
});
