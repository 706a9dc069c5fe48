import { describe, expect, it } from 'vitest';
import { readMessages, scriptChat } from '../support/chat.ts';
import { mailCall, useChatPage } from '../support/chat-page.ts';
import { hasChromium } from '../support/chromium.ts';
import { insertLog, insertRun } from '../support/records.ts';

describe.skipIf(!hasChromium)('the chat (skipped without Chromium)', () => {
  const chat = useChatPage();
  const { question, turn, dialog, ask, storedTurn } = chat;

  describe('asking', () => {
    it('shows the answer as Markdown while it is streamed', async () => {
      const gate = Promise.withResolvers<void>();
      const { page } = chat.site;
      scriptChat(chat.gateway, { text: ['It was the **disk', '**, see:\n\n'], gate: gate.promise });
      await page.getByRole('button', { name: 'Why did the last run fail?' }).click();
      const asked = turn('Why did the last run fail?');
      await asked.locator('strong', { hasText: 'disk' }).waitFor();
      await page.getByRole('button', { name: 'Stop' }).waitFor();
      expect(new URL(page.url()).pathname).toMatch(/^\/app\/chat\/[0-9a-f-]{36}$/);
      gate.resolve();
      await page.getByRole('status').getByText('Answered.').waitFor({ state: 'attached' });
      await page
        .getByRole('navigation', { name: 'Conversations' })
        .getByRole('link', { name: 'Why did the last run fail?' })
        .waitFor();
    });

    it('shows a card for each tool call, with its arguments and its result', async () => {
      const run = await insertRun(chat.site.db, { status: 'completed' });
      const calls = [
        { id: 'a', name: 'get_backup_run_details', args: { run_id: run } },
        { id: 'b', name: 'get_backup_run_details', args: { run_id: 999_999 } },
      ];
      await ask('How was it?', { calls }, { text: ['Well.'] });
      await turn('How was it?').getByText('Well.').waitFor();
      const check = async () => {
        const cards = turn('How was it?').getByRole('button', { name: /get_backup_run_details/ });
        await cards.nth(1).waitFor();
        expect(await cards.count()).toBe(2);
        expect(await cards.nth(0).getAttribute('aria-expanded')).toBe('false');
        await cards.nth(0).getByText('Done').waitFor();
        await cards.nth(1).getByText('Failed').waitFor();
        await cards.nth(0).click();
        const panel = turn('How was it?').getByRole('region', { name: 'Arguments' });
        expect(JSON.parse((await panel.textContent()) ?? '')).toEqual({ run_id: run });
        const result = turn('How was it?').getByRole('region', { name: 'Result' });
        expect(JSON.parse((await result.textContent()) ?? '')).toMatchObject({ run: { id: run } });
        await cards.nth(1).click();
        await turn('How was it?').getByRole('region', { name: 'Error' }).getByText('999').waitFor();
      };
      await check();
      await chat.site.page.reload();
      await check();
    });

    it('links the records that were found to their pages', async () => {
      const run = await insertRun(chat.site.db, { status: 'completed' });
      await insertLog(chat.site.db, {
        run_id: run,
        repository: 'acme/api',
        message: 'the zeppelin could not be pushed',
      });
      await ask('zeppelin', { text: ['It could not be pushed.'] });
      const sources = turn('zeppelin').getByRole('region', { name: 'Sources' });
      await sources.getByText('the zeppelin could not be pushed').waitFor();
      await turn('zeppelin').getByText('It could not be pushed.').waitFor();
      await storedTurn();
      await chat.site.page.reload();
      await sources.getByText('the zeppelin could not be pushed').waitFor();
      await sources.getByRole('link', { name: /of acme\/api/ }).click();
      const line = chat.site.page.locator('[aria-current=true]').getByText('zeppelin');
      await line.waitFor();
      await chat.site.page.getByRole('link', { name: `See run #${run}` }).waitFor();
    });

    it('continues the same conversation, which search finds', async () => {
      await ask('First?', { text: ['The gazebo.'] });
      await turn('First?').getByText('The gazebo.').waitFor();
      await ask('Second?', { text: ['The pergola.'] });
      await turn('Second?').getByText('The pergola.').waitFor();
      const address = chat.site.page.url();
      await chat.site.open('/app/search?q=gazebo&type=investigation');
      await chat.site.page
        .getByRole('list', { name: 'Results' })
        .getByRole('link', { name: /Answer/ })
        .click();
      await turn('First?').getByText('The gazebo.').waitFor();
      await turn('Second?').getByText('The pergola.').waitFor();
      expect(chat.site.page.url()).toBe(address);
    });

    it('shows a long answer to its end', async () => {
      const piece = (n: number) => `Paragraph ${n} ${'with some words '.repeat(30)}\n\n`;
      const text = [...Array.from({ length: 400 }, (_, n) => piece(n)), 'The very end.'];
      await ask('Tell me all.', { text });
      await turn('Tell me all.').getByText('The very end.').waitFor();
      expect(await turn('Tell me all.').locator('p').count()).toBeGreaterThan(400);
    });

    it('can be stopped', async () => {
      await ask('Is all well?', { text: ['Half'], instead: 'hang' });
      await turn('Is all well?').getByText('Half').waitFor();
      await chat.site.page.getByRole('button', { name: 'Stop' }).click();
      await turn('Is all well?').getByRole('alert').getByText('you stopped this turn').waitFor();
      expect(await storedTurn()).toMatchObject({ status: 'failed', content: 'Half' });
    });

    it('shows a failure with its request id, and can be repeated', async () => {
      await ask('Is all well?', { error: { code: 500, message: 'inner' } });
      const problem = turn('Is all well?').getByRole('alert');
      await problem.getByText('request ID').waitFor();
      const [stored] = await readMessages(chat.site.db);
      expect(await problem.getByRole('code').or(problem.locator('code')).textContent()).toBe(
        stored?.request_id,
      );
      scriptChat(chat.gateway, { text: ['Now it is.'] });
      await problem.getByRole('button', { name: 'Ask again' }).click();
      await turn('Is all well?').getByText('Now it is.').waitFor();
    });

    it('works by keyboard alone, including the approval of a mail', async () => {
      const { page } = chat.site;
      scriptChat(chat.gateway, { calls: [mailCall] }, { text: ['Sent.'] });
      await question().waitFor();
      await page.keyboard.type('Mail the week.');
      await page.keyboard.press('Enter');
      await dialog().waitFor();
      const focused = () => page.evaluate<string>('document.activeElement.textContent');
      await expect.poll(focused).toBe('Reject');
      await page.keyboard.press('Tab');
      expect(await focused()).toBe('Approve');
      await page.keyboard.press('Enter');
      await turn('Mail the week.').getByText('Sent.').waitFor();
      expect(chat.mail.delivered).toHaveLength(1);
    });
  });

  describe('untrusted text', () => {
    const markdown = [
      '<script>document.title = "taken"</script> <img src=x onerror="document.title=1">',
      '[script](javascript:document.title=1) [data](data:text/html,x) [act](/chat?question=x)',
      `[own](/app/runs) [site](https://example.com/a) [name](https://you@example.com/)`,
      '![picture](https://example.com/p.png) \u202Egpj.exe',
      'w'.repeat(10_000),
    ].join('\n\n');

    it('is shown as text, with links only to safe addresses', async () => {
      const { complaints, page } = chat.site;
      await insertLog(chat.site.db, { message: markdown });
      const calls = [
        { id: 'a', name: 'get_execution_logs', args: { limit: 1 } },
        { id: 'b', name: '<b>\u202Etool</b>', args: { '<i>': markdown } },
      ];
      await ask('Show me.', { calls }, { text: [markdown] });
      const shown = turn('Show me.');
      await shown.getByText('gpj.exe').waitFor();
      expect(await shown.locator('script, img, iframe').count()).toBe(0);
      const links = await shown.getByRole('link').all();
      const read = links.map((it) =>
        Promise.all([it.textContent(), it.getAttribute('href'), it.getAttribute('rel')]),
      );
      const rel = 'noopener noreferrer';
      expect(await Promise.all(read)).toEqual([
        ['own', `${chat.site.world.server.url}/app/runs`, rel],
        ['site', 'https://example.com/a', rel],
        ['picture', 'https://example.com/p.png', rel],
      ]);
      await shown.getByText('script (javascript:document.title=1)').waitFor();
      for (const name of ['get_execution_logs', 'tool']) {
        await shown.getByRole('button', { name }).click();
      }
      await shown.getByRole('region', { name: 'Result' }).getByText('<script>').waitFor();
      expect(await page.title()).toBe('Show me. · Backup Observatory');
      expect(complaints).toEqual([]);
      await page.setViewportSize({ width: 390, height: 800 });
      const width = () => page.evaluate<number>('document.documentElement.scrollWidth');
      await expect.poll(width).toBeLessThanOrEqual(390);
    });

    it('is shown unparsed if parsing it would overload the browser', async () => {
      await ask('How deep?', { text: [`${'>'.repeat(20_000)} deep`] });
      await turn('How deep?').locator('pre').last().waitFor();
      expect(await turn('How deep?').locator('blockquote').count()).toBe(0);
      expect(await turn('How deep?').locator('pre').last().textContent()).toMatch(/> deep$/);
      expect(chat.site.complaints).toEqual([]);
    });
  });
});
