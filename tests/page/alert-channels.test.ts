import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashPassword } from '../../lib/security/password.ts';
import { addUser } from '../../lib/users/users.ts';
import { addressesAt, SECRETS } from '../support/alert-channels.ts';
import { hasChromium } from '../support/chromium.ts';
import { findViolations, usePage, withPage } from '../support/page.ts';
import { QUICK_COST } from '../support/passwords.ts';
import { sql } from '../support/records.ts';
import {
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from '../support/scripted-server.ts';

// A real browser on the server of `npm start`, with a stand-in for the notification services.

const PASSWORD = 'the password of grace';

describe.skipIf(!hasChromium)('the alert channels (skipped without Chromium)', () => {
  let service: ScriptedServer;
  let answer: ScriptedAnswer;

  beforeAll(async () => {
    service = await startScriptedServer(() => answer);
  });
  afterAll(() => service.close());
  const site = usePage({
    environment: () => ({ ALERT_CHANNELS: `on-call=${addressesAt(service).slack}` }),
    startsLoggedOut: true,
  });
  beforeEach(async () => {
    answer = { status: 200 };
    service.received.length = 0;
    await sql(site.db, 'DELETE FROM alert_channels');
    await sql(site.db, 'DELETE FROM users');
  });

  const button = (name: string) => site.page.getByRole('button', { name, exact: true });
  const openTab = async () => {
    await site.logIn();
    await site.open('/app/settings?tab=alerts');
    await site.page.getByText('on-call').waitFor();
  };
  async function add(name: string, address: string): Promise<void> {
    await button('Add a channel').click();
    await site.page.getByRole('textbox', { name: 'Name' }).fill(name);
    await site.page.getByRole('textbox', { name: 'Address' }).fill(address);
    await button('Add').click();
  }

  it('are added, tested and removed, and their addresses are never shown again', async () => {
    const { complaints, page } = site;
    await openTab();
    await add('at night', addressesAt(service).gotify ?? '');
    await page.getByText('at night was added').waitFor();
    await button('Send a test message through at night').click();
    await page.getByText('The service accepted the test message').waitFor();
    expect(service.received.map(({ path }) => path)).toEqual(['/base/message']);
    const shown = await page.content();
    for (const secret of SECRETS) expect(shown).not.toContain(secret);

    await button('Remove at night').click();
    await button('Remove').click();
    await page.getByText('at night was removed').waitFor();
    await button('Remove at night').waitFor({ state: 'detached' });
    expect(await sql(site.db, 'SELECT FROM alert_channels')).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('can be tested but not removed if ALERT_CHANNELS sets them', async () => {
    const { page } = site;
    await openTab();
    await page.getByText('set by ALERT_CHANNELS').waitFor();
    expect(await button('Remove on-call').count()).toBe(0);
    answer = { status: 404, body: 'no_service' };
    await button('Send a test message through on-call').click();
    await page.getByText('The test message was not sent').waitFor();
    await page.getByText('Slack answered 404.').waitFor();
    answer = { status: 200 };
    await button('Send a test message through on-call').click();
    await page.getByText('The service accepted the test message').waitFor();
    expect(await page.getByText('Slack answered 404').count()).toBe(0);
  });

  it('explain what is wrong with an address, and keep the input', async () => {
    const { page } = site;
    await openTab();
    await add('at night', 'gotify://example.com/');
    await page.getByText('must have the token of an application').waitFor();
    expect(await page.getByRole('textbox', { name: 'Name' }).inputValue()).toBe('at night');
  });

  it('are only shown to the owner', async () => {
    const { open, page } = site;
    await addUser(site.db, 'grace', await hashPassword(PASSWORD, QUICK_COST));
    await open('/app/settings?tab=alerts');
    await page.getByLabel('User name').fill('grace');
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button('Log in').click();
    await page.getByText('Only the owner sees the channels').waitFor();
    expect(await page.getByText('on-call').count()).toBe(0);
    expect(await button('Add a channel').count()).toBe(0);
  });

  it('pass the axe checks', async () => {
    const { complaints, page } = site;
    await openTab();
    answer = { status: 404 };
    await button('Send a test message through on-call').click();
    await page.getByText('Slack answered 404').waitFor();
    expect(await findViolations(page)).toEqual([]);
    await button('Add a channel').click();
    await page.getByRole('textbox', { name: 'Address' }).waitFor();
    expect(await findViolations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('fit the width of a phone', async () => {
    const { page } = site;
    await page.setViewportSize({ width: 390, height: 800 });
    await openTab();
    await add('x'.repeat(40), addressesAt(service).gotify ?? '');
    await button(`Remove ${'x'.repeat(40)}`).waitFor();
    const width = () => page.evaluate<number>('document.documentElement.scrollWidth');
    expect(await width()).toBeLessThanOrEqual(390);
    await button('Add a channel').click();
    await page.getByText('apprise://apprise.example.com/KEY').waitFor();
    expect(await width()).toBeLessThanOrEqual(390);
  });
});

describe.skipIf(!hasChromium)(
  'alert channels without an encryption key (skipped without Chromium)',
  () => {
    it('explain why no channel can be added', async () => {
      await withPage({ CREDENTIALS_ENCRYPTION_KEY: '' }, async ({ open, page }) => {
        await open('/app/settings?tab=alerts');
        await page.getByText('Nobody is notified yet').waitFor();
        await page.getByText('CREDENTIALS_ENCRYPTION_KEY not set').waitFor();
        expect(await page.getByRole('button', { name: 'Add a channel' }).count()).toBe(0);
      });
    });
  },
);
