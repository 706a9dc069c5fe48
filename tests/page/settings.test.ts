import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashPassword } from '../../lib/security/password.ts';
import { addUser } from '../../lib/users/users.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { findViolations, hasChromium, usePage, withPage } from '../support/page.ts';
import { QUICK_COST } from '../support/passwords.ts';
import { insertLog, sql } from '../support/records.ts';

// A real browser on the server of `npm start`, with a stand-in of the model gateway.

const TOKEN = 'a-token-of-mcp-that-is-long-enough-00001';
const PASSWORD = 'the password of grace';

describe.skipIf(!hasChromium)('the settings (skipped without /usr/bin/chromium)', () => {
  let gateway: Gateway;
  let authorization: Authorization;

  beforeAll(async () => {
    [gateway, authorization] = await Promise.all([startGateway(), startAuthorization()]);
  });
  afterAll(() => Promise.all([gateway.close(), authorization.close()]));
  const site = usePage({
    environment: () => ({
      GATEWAY_BASE_URL: gateway.url,
      GATEWAY_AUTHORIZE_URL: authorization.url,
      MCP_AUTH_TOKEN: TOKEN,
    }),
    startsLoggedOut: true,
  });

  const button = (name: string) => site.page.getByRole('button', { name, exact: true });
  const openTab = async (tab: string) => {
    await site.logIn();
    await site.open(`/app/settings?tab=${tab}`);
  };

  it('is in the navigation, and keeps its tab in the address', async () => {
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

  describe('the gateway', () => {
    beforeEach(async () => {
      await sql(site.db, 'DELETE FROM gateway_connections');
      gateway.requests.length = 0;
      authorization.refuses = false;
    });

    /** Clicks, and returns the window that opens. */
    async function connect() {
      const opening = site.context.waitForEvent('page');
      await button('Connect your key').click();
      return opening;
    }

    it('is connected in a window of its own, with PKCE, and disconnected', async () => {
      const { complaints, page } = site;
      await openTab('models');
      await page.getByText('No key is connected').waitFor();
      const popup = await connect();
      await popup.getByText('Your key is connected').waitFor();
      await page.getByText('which ends with').waitFor();

      const asked = authorization.asked.at(-1);
      const [exchange] = gateway.requestsTo('/auth/keys');
      const verifier = String(exchange?.body?.code_verifier);
      expect(exchange?.body).toMatchObject({ code: 'the-code', code_challenge_method: 'S256' });
      expect(asked?.get('code_challenge_method')).toBe('S256');
      expect(asked?.get('code_challenge')).toBe(
        createHash('sha256').update(verifier).digest('base64url'),
      );
      expect(asked?.get('callback_url')).toContain(
        `${site.world.server.url}/app/settings/gateway/`,
      );
      expect(await page.evaluate<string>('JSON.stringify({...sessionStorage})')).not.toContain(
        verifier,
      );
      // The other site has no hold on our page.
      expect(await popup.evaluate<boolean>('window.opener === null')).toBe(true);

      await button('Disconnect').click();
      await page.getByText('No key is connected').waitFor();
      expect(complaints).toEqual([]);
    });

    it('takes no code with a state that it did not make', async () => {
      const { context, page } = site;
      await openTab('models');
      authorization.holds();
      const popup = await connect();
      await page.getByText('Allow access in the gateway’s window').waitFor();
      const forged = await context.newPage();
      await forged.clock.install();
      await forged.goto(`${site.world.server.url}/app/settings/gateway/forged?code=theirs`);
      await forged.getByLabel('Connecting').waitFor();
      await forged.clock.runFor(21_000);
      await forged.getByText('The page that started it is not open any more').waitFor();
      expect(gateway.requestsTo('/auth/keys')).toEqual([]);
      // The login that was started still works.
      await popup.goto(authorization.answer());
      await page.getByText('which ends with').waitFor();
    });

    it('works in the same window too', async () => {
      const { page } = site;
      await openTab('models');
      authorization.holds();
      const popup = await connect();
      await popup.getByText('Allow?').waitFor();
      const address = await page.getByRole('link', { name: 'Open it' }).getAttribute('href');
      await page.goto(address ?? '');
      await page.getByText('Your key is connected').waitFor();
      await page.getByRole('link', { name: 'To the settings' }).click();
      await page.getByText('which ends with').waitFor();
    });

    it('says in both windows why the gateway gave no key', async () => {
      gateway.script('/auth/keys', { status: 403 });
      await openTab('models');
      const popup = await connect();
      await popup.getByText('the model gateway refused the code').waitFor();
      await site.page.getByText('the model gateway refused the code').waitFor();
    });

    it('says when the gateway gave no code', async () => {
      authorization.refuses = true;
      await openTab('models');
      const popup = await connect();
      await popup.getByText('The gateway gave no code').waitFor();
    });

    it('lists the models that rerank', async () => {
      await openTab('models');
      await site.page.getByText('acme/rerank-free').waitFor();
      expect(await site.page.getByText('acme/rerank-paid').count()).toBe(0);
    });
  });

  describe('the vectors', () => {
    const generations = async () =>
      (await sql<{ status: string }>(site.db, 'SELECT status FROM embedding_generations')).map(
        ({ status }) => status,
      );

    beforeAll(async () => {
      for (let number = 1; number <= 30; number += 1) {
        await insertLog(site.db, {
          level: 'info',
          message: `cloned repository ${number}`,
        });
      }
    });

    it('are built with a model after saying what it costs, used, replaced and deleted', async () => {
      const { complaints, page } = site;
      await openTab('search');
      await page.getByText('There are no vectors yet').waitFor();
      await button('Choose a model').click();
      await page.getByRole('radio', { name: 'Acme Embed' }).check();
      expect(await page.getByRole('radio', { name: 'Acme Embed Pro' }).count()).toBe(0);
      await page.getByRole('radio', { name: /hashing|Hashing/ }).check();
      await button('Continue').click();
      await page.getByText('the server computes them itself, and nothing leaves it').waitFor();
      expect(await generations()).toEqual([]);
      await button('Build them').click();
      await button('Use it for searches').click();
      await page.getByRole('row').filter({ hasText: '#1' }).getByText('In use').waitFor();
      await page.getByText('30 vectors').waitFor();

      await button('Switch the model').click();
      await page.getByRole('radio', { name: /hashing|Hashing/ }).check();
      await button('Continue').click();
      await page.getByText('about 30 records').waitFor();
      await button('Build them').click();
      await button('Use it for searches').click();
      await page.getByRole('row').filter({ hasText: '#1' }).getByText('Retired').waitFor();
      await button('Delete retired and failed ones').click();
      await page.getByRole('row').filter({ hasText: '#1' }).waitFor({ state: 'detached' });
      expect(await generations()).toEqual(['ACTIVE']);
      expect(complaints).toEqual([]);
    });

    it('show how far they are, what failed, and go on where they are built', async () => {
      const { db } = site;
      await sql(
        db,
        "INSERT INTO embedding_generations (id, model_id, dimensions) VALUES (50, 'local/hashing-384', 384)",
      );
      await sql(
        db,
        `INSERT INTO embedding_jobs (generation_id, source_type, source_id, status, error_message)
         SELECT 50, 'execution_log', id::text,
           CASE WHEN id % 10 = 0 THEN 'failed' WHEN id % 2 = 0 THEN 'completed' ELSE 'pending' END,
           CASE WHEN id % 10 = 0 THEN 'the model was too slow' END
         FROM execution_logs`,
      );
      const { page } = site;
      await openTab('search');
      await page.getByText('15 of 30 records, 50 %, 3 failed').waitFor();
      const bar = page.getByRole('progressbar', { name: 'Records with vectors' });
      expect(await bar.getAttribute('aria-valuenow')).toBe('50');
      await page.getByText('the model was too slow').waitFor();
      expect(await button('Switch the model').isDisabled()).toBe(true);
      // Somebody else finishes five: the page sees it without being asked.
      await sql(
        db,
        `UPDATE embedding_jobs SET status = 'completed' WHERE id IN
           (SELECT id FROM embedding_jobs WHERE generation_id = 50 AND status = 'pending' LIMIT 5)`,
      );
      await page.getByText('20 of 30 records').waitFor();
      await button('Build it here').click();
      await button('Use it for searches').waitFor();
    });
  });

  describe('the users', () => {
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

    it('are added, get another password, and are removed by the owner', async () => {
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

    it('see only themselves, and change their own password with the old one', async () => {
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
      // Still logged in, with a cookie of the new password.
      await page.reload();
      await page.getByText('You see only yourself').waitFor();
    });
  });

  describe('connecting an agent', () => {
    it('has a snippet for each client, with the address, without the token', async () => {
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

    it('has a curl command that works with the token', async () => {
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
  describe.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
    it.each(tabs)('%s has no violation that axe finds', async (tab) => {
      const { complaints, page } = site;
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await openTab(tab);
      await page.getByRole('tabpanel').getByRole('heading').first().waitFor();
      expect(await findViolations(page)).toEqual([]);
      expect(complaints).toEqual([]);
    });

    it('the dialogs and the returning window have none either', async () => {
      const { open, page } = site;
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      await openTab('users');
      await button('Add a user').click();
      await page.getByRole('textbox', { name: 'New password' }).waitFor();
      expect(await findViolations(page)).toEqual([]);
      await open('/app/settings/gateway/any');
      await page.getByText('The gateway gave no code').waitFor();
      expect(await findViolations(page)).toEqual([]);
    });
  });

  it('fits the width of a phone', async () => {
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

describe.skipIf(!hasChromium)('without secrets (skipped without /usr/bin/chromium)', () => {
  it('the settings name the variables that are missing', async () => {
    const environment = {
      CREDENTIALS_ENCRYPTION_KEY: '',
      GATEWAY_BASE_URL: 'http://127.0.0.1:9',
    };
    await withPage(environment, async ({ open, page }) => {
      await open('/app/settings');
      await page.getByText('CREDENTIALS_ENCRYPTION_KEY not set').waitFor();
      expect(await page.getByRole('button', { name: 'Connect your key' }).count()).toBe(0);
      // A gateway that cannot be reached is no error of the settings.
      await page.getByText('The gateway’s list cannot be read now').waitFor();
      expect(await page.getByText('That did not work').count()).toBe(0);
      await open('/app/settings?tab=agents');
      await page.getByText('MCP_AUTH_TOKEN not set').waitFor();
    });
  });
});

/** The gateway's page on which a person allows access. */
interface Authorization {
  url: string;
  /** What its visitors were sent with. */
  asked: URLSearchParams[];
  /** Leads back without a code. */
  refuses: boolean;
  /** Leaves the next visitor on the page. */
  holds(): void;
  /** Where the last visitor is led. */
  answer(): string;
  close(): Promise<void>;
}

async function startAuthorization(): Promise<Authorization> {
  let isHeld = false;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    if (pathname !== '/auth') return void response.writeHead(404).end();
    page.asked.push(searchParams);
    if (isHeld) {
      isHeld = false;
      return void response.writeHead(200, { 'Content-Type': 'text/html' }).end('Allow?');
    }
    response.writeHead(302, { Location: page.answer() }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const page: Authorization = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/auth`,
    asked: [],
    refuses: false,
    holds() {
      isHeld = true;
    },
    answer() {
      const back = page.asked.at(-1)?.get('callback_url') ?? '';
      return page.refuses ? back : `${back}?code=the-code`;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return page;
}
