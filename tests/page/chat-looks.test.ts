import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useChatPage } from '../support/chat-page.ts';
import { hasChromium } from '../support/chromium.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { ADA } from '../support/observatory-client.ts';
import { findViolations, usePage } from '../support/page.ts';
import { sql } from '../support/records.ts';

describe.skipIf(!hasChromium)('the look of the chat (skipped without Chromium)', () => {
  const chat = useChatPage();
  const { turn, dialog, ask, askForMail } = chat;

  it('puts the conversations into a drawer on a phone, without scrolling sideways', async () => {
    const { page } = chat.site;
    await ask('Is all well?', { text: ['Yes.'] });
    await turn('Is all well?').getByText('Yes.').waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    await chat.site.open('/app/chat');
    const width = () => page.evaluate<number>('document.documentElement.scrollWidth');
    await expect.poll(width).toBeLessThanOrEqual(390);
    await page.getByRole('button', { name: 'Conversations' }).click();
    await dialog().getByRole('link', { name: 'Is all well?' }).click();
    await turn('Is all well?').getByText('Yes.').waitFor();
    await dialog().waitFor({ state: 'detached' });
    await expect.poll(width).toBeLessThanOrEqual(390);
  });

  it('passes the axe checks before the first question', async () => {
    expect(await findViolations(chat.site.page)).toEqual([]);
    expect(chat.site.complaints).toEqual([]);
  });

  it('passes the axe checks in a conversation', async () => {
    const text = '## Why\n\n`code`, [link](https://example.com)\n\n| a | b |\n|---|---|\n| 1 | 2 |';
    await ask('Is all well?', { calls: [{ id: 'a', name: 'list_backup_runs' }] }, { text: [text] });
    await turn('Is all well?').getByRole('table').waitFor();
    await turn('Is all well?')
      .getByRole('button', { name: /list_backup_runs/ })
      .click();
    await turn('Is all well?').getByRole('region', { name: 'Result' }).waitFor();
    await ask('And now?', { error: { code: 500, message: 'inner' } });
    await turn('And now?').getByRole('alert').waitFor();
    expect(await findViolations(chat.site.page)).toEqual([]);
    expect(chat.site.complaints).toEqual([]);
  });

  it('passes the axe checks in the confirmation dialog', async () => {
    await askForMail();
    // A reload closes the stream, so that the network becomes idle.
    await chat.site.page.reload();
    await dialog().getByText('Send this mail?').waitFor();
    expect(await findViolations(chat.site.page)).toEqual([]);
    await dialog().getByRole('tab', { name: 'Source' }).click();
    await dialog().getByRole('region', { name: 'Mail' }).getByText('# All is well').waitFor();
    expect(await findViolations(chat.site.page)).toEqual([]);
    await dialog().getByRole('button', { name: 'Reject' }).click();
    await turn('Mail the week.').getByText('As you say.').waitFor();
    expect(chat.site.complaints).toEqual([]);
  });
});

describe.skipIf(!hasChromium)('the chat without a gateway key (skipped without Chromium)', () => {
  let gateway: Gateway;

  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway.close());
  const site = usePage({
    environment: () => ({ GATEWAY_BASE_URL: gateway.url, GATEWAY_MODEL: 'acme/chat-free' }),
  });

  it('asks for a key before it takes a question', async () => {
    const { open, page } = site;
    await open('/app/chat');
    await page.getByRole('heading', { name: 'The chat needs a key' }).waitFor();
    expect(await page.getByRole('textbox', { name: 'Question' }).count()).toBe(0);
    expect(await findViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Open settings' }).click();
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor();
  });

  it('explains in an earlier conversation how to connect a model', async () => {
    const { open, page } = site;
    const id = randomUUID();
    await sql(
      site.db,
      `INSERT INTO chat_sessions (id, username) VALUES ('${id}', '${ADA.username}')`,
    );
    await open(`/app/chat/${id}`);
    await page.getByRole('textbox', { name: 'Question' }).fill('Why?');
    await page.keyboard.press('Enter');
    const problem = page.getByRole('alert');
    await problem.getByText('No model is connected').waitFor();
    await problem.getByText('GATEWAY_API_KEYS', { exact: true }).waitFor();
    await problem.getByRole('button', { name: 'Ask again' }).waitFor();
  });
});
