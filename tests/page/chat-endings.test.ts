import { describe, expect, it } from 'vitest';
import { scriptChat } from '../support/chat.ts';
import { mailCall, useChatPage } from '../support/chat-page.ts';
import { hasChromium } from '../support/chromium.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
import { findViolations } from '../support/page.ts';

describe.skipIf(!hasChromium)('how an answer of the chat ends (skipped without Chromium)', () => {
  const chat = useChatPage();
  const { turn, dialog, ask, askForMail, storedTurn } = chat;

  it.each([
    ['in tags', ['<thi', 'nk>The disk may be full.', '</think>\n\nIt is *full*.']],
    ['without its start', ['The disk may be', ' full.', '</think>\n\nIt is *full*.']],
  ])('the reasoning of a model %s is folded, also after a reload', async (_case, text) => {
    const gate = Promise.withResolvers<void>();
    await ask('Why?', { text, gate: gate.promise });
    const check = async () => {
      await turn('Why?').locator('em', { hasText: 'full' }).waitFor();
      const fold = turn('Why?').getByRole('button', { name: 'Reasoning' });
      expect(await fold.getAttribute('aria-expanded')).toBe('false');
      expect(await turn('Why?').textContent()).not.toMatch(/think|may be full/);
      await fold.click();
      await turn('Why?').getByText('The disk may be full.').waitFor();
    };
    await check();
    gate.resolve();
    await storedTurn();
    await chat.site.page.reload();
    await check();
  });

  it.each([
    ['length', "This answer was cut off at the model's limit."],
    ['content_filter', 'The rest of this answer was withheld by the provider.'],
  ])('after %s the page says so, and can continue', async (finish, words) => {
    await ask('Tell me all.', { text: ['First, and'], finish });
    const note = turn('Tell me all.').getByRole('note');
    await note.getByText(words).waitFor();
    await storedTurn();
    await chat.site.page.reload();
    await note.getByText(words).waitFor();
    expect(await findViolations(chat.site.page)).toEqual([]);
    scriptChat(chat.gateway, { text: ['second.'] });
    await note.getByRole('button', { name: 'Continue' }).click();
    await turn('Continue your last answer where it ended.').getByText('second.').waitFor();
    // Only the last answer can be continued.
    await note.getByRole('button').waitFor({ state: 'detached' });
    expect(chat.site.complaints).toEqual([]);
  });

  it('a turn that ended while it waited for approval says so, and can be asked again', async () => {
    await askForMail();
    await chat.site.world.restart(async () => {
      await turn('Mail the week.').getByText('The connection was lost').waitFor();
      expect(await dialog().count()).toBe(0);
    });
    await chat.site.page.reload();
    await turn('Mail the week.').getByText('The turn ended before you decided').waitFor();
    expect(chat.mail.delivered).toHaveLength(0);
    scriptChat(chat.gateway, { calls: [mailCall] }, { text: ['As you say.'] });
    await turn('Mail the week.').getByRole('button', { name: 'Ask again' }).click();
    await dialog().getByRole('button', { name: 'Approve' }).click();
    await turn('Mail the week.').getByText('As you say.').waitFor();
    expect(chat.mail.delivered).toHaveLength(1);
  });

  it('a turn whose connection is lost says so, and is found again', async () => {
    const proxy = await startFaultProxy(
      '127.0.0.1',
      Number(new URL(chat.site.world.server.url).port),
    );
    await chat.site.page.goto(`http://${proxy.host}/app/chat`);
    await askForMail();
    await proxy.break('refuses');
    await turn('Mail the week.').getByText('The connection was lost').waitFor();
    await turn('Mail the week.').getByRole('button', { name: 'Ask again' }).waitFor();
    expect(await dialog().count()).toBe(0);
    await proxy.repair();
    await dialog().getByRole('button', { name: 'Approve' }).click();
    await turn('Mail the week.').getByText('As you say.').waitFor();
    expect(chat.mail.delivered).toHaveLength(1);
    await proxy.close();
  });

  it('an approval that comes too late says so, and the question can be asked again', async () => {
    await askForMail();
    await chat.site.page.route('**/chat/confirm', (route) =>
      route.fulfill({ status: 409, json: { error: { message: 'too late' } } }),
    );
    await dialog().getByRole('button', { name: 'Approve' }).click();
    await dialog().getByText('This can no longer be decided').waitFor();
    await chat.site.page.unroute('**/chat/confirm');
    scriptChat(chat.gateway, { calls: [mailCall] }, { text: ['Once more.'] });
    await dialog().getByRole('button', { name: 'Ask again' }).click();
    await dialog().getByText('Send this mail?').waitFor();
    await dialog().getByRole('button', { name: 'Reject' }).click();
    await chat.site.page.getByText('Once more.').waitFor();
    expect(chat.mail.delivered).toHaveLength(0);
  });

  it('approvals that are awaited in more tabs than a browser has connections hold up no tab', async () => {
    const { world, context } = chat.site;
    const windows = [];
    for (let n = 0; n < 7; n += 1) {
      scriptChat(chat.gateway, { calls: [mailCall] }, { text: [`Sent ${n}.`] });
      const { page, open } = await world.openWindow(context);
      await open('/app/chat');
      await page.getByRole('textbox', { name: 'Question' }).fill(`Mail ${n}.`);
      await page.getByRole('textbox', { name: 'Question' }).press('Enter');
      await page.getByRole('dialog').getByText('Send this mail?').waitFor();
      windows.push({ page, n });
    }
    scriptChat(chat.gateway, ...windows.map(({ n }) => ({ text: [`Sent ${n}.`] })));
    for (const { page, n } of windows) {
      await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
      await page
        .getByRole('article', { name: `Mail ${n}.` })
        .getByText('Sent')
        .waitFor();
    }
    expect(chat.mail.delivered).toHaveLength(windows.length);
    for (const { page } of windows) await page.close();
  });

  it('an answer is not followed in a hidden tab, which keeps what it has and gets the rest when it is shown', async () => {
    const { page } = chat.site;
    const show = (isShown: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${!isShown}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);
    const gate = Promise.withResolvers<void>();
    await ask('Why?', { text: ['The disk', ' is full.'], gate: gate.promise });
    await turn('Why?').getByText('The disk').waitFor();
    const ended = page.waitForEvent('requestfailed', (it) => it.url().endsWith('/chat/stream'));
    await show(false);
    await ended;
    await turn('Why?').getByText('The disk').waitFor();
    gate.resolve();
    await storedTurn();
    await show(true);
    await turn('Why?').getByText('The disk is full.').waitFor();
  });
});
