import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  chatEnvironment,
  readMessages,
  type ScriptedStep,
  scriptChat,
  waitFor,
} from '../support/chat.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { ADDRESSES, type MailService, startMailService } from '../support/mail.ts';
import {
  findViolations,
  hasChromium,
  type PageWorld,
  startPageWorld,
  type Window,
} from '../support/page.ts';
import { insert, insertLog, insertRun, sql } from '../support/records.ts';

// The chat in a real browser, on the server of `npm start`. Only the model and the mail service are stand-ins.

const report = {
  subject: 'The week',
  recipients: [ADDRESSES[1]],
  content_markdown: '# All is well\n\n- one\n- two',
};
const mailCall = { id: 'call_mail', name: 'send_report_email', args: report };

describe.skipIf(!hasChromium)('the chat (skipped without /usr/bin/chromium)', () => {
  let world: PageWorld;
  let gateway: Gateway;
  let mail: MailService;
  let window: Window;

  beforeAll(async () => {
    [gateway, mail] = await Promise.all([startGateway(), startMailService()]);
    world = await startPageWorld({ ...chatEnvironment(gateway), ...mail.environment });
  });
  afterAll(async () => {
    await world.close();
    await Promise.all([gateway.close(), mail.close()]);
  });
  beforeEach(async () => {
    mail.delivered.length = 0;
    await sql(world.database.db, 'TRUNCATE chat_sessions, chat_messages CASCADE');
    window = await world.openWindow();
    await window.logIn();
    await window.open('/app/chat');
  });
  afterEach(() => window.context.close());

  const question = () => window.page.getByRole('textbox', { name: 'Question' });
  const turn = (name: string) => window.page.getByRole('article', { name });
  const dialog = () => window.page.getByRole('dialog');
  /** Asks by Enter, with a model that answers in these steps. */
  async function ask(words: string, ...steps: ScriptedStep[]) {
    scriptChat(gateway, ...steps);
    await question().fill(words);
    await question().press('Enter');
    await turn(words).waitFor();
  }
  /** Asks for a mail and waits for the dialog. */
  async function askForMail(...after: ScriptedStep[]) {
    const steps = after.length > 0 ? after : [{ text: ['As you say.'] }];
    await ask('Mail the week.', { calls: [mailCall] }, ...steps);
    await dialog().getByText('Send this mail?').waitFor();
  }
  const storedTurn = () =>
    waitFor(async () => (await readMessages(world.database.db))[1] ?? null, 'a stored turn');

  describe('asking', () => {
    it('shows the answer while it is streamed, as Markdown', async () => {
      const gate = Promise.withResolvers<void>();
      const { page } = window;
      scriptChat(gateway, { text: ['It was the **disk', '**, see:\n\n'], gate: gate.promise });
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

    it('has a card for each tool, with its arguments and its result', async () => {
      const run = await insertRun(world.database.db, { status: 'completed' });
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
      await window.page.reload();
      await check();
    });

    it('links the records that were found to their place', async () => {
      const run = await insertRun(world.database.db, { status: 'completed' });
      await insertLog(world.database.db, {
        run_id: run,
        repository: 'acme/api',
        message: 'the zeppelin could not be pushed',
      });
      await ask('zeppelin', { text: ['It could not be pushed.'] });
      const sources = turn('zeppelin').getByRole('region', { name: 'Sources' });
      await sources.getByText('the zeppelin could not be pushed').waitFor();
      await sources.getByRole('link', { name: /of acme\/api/ }).click();
      await window.page.getByRole('heading', { name: `Run #${run}` }).waitFor();
    });

    it('goes on in the same conversation, which the search finds', async () => {
      await ask('First?', { text: ['The gazebo.'] });
      await turn('First?').getByText('The gazebo.').waitFor();
      await ask('Second?', { text: ['The pergola.'] });
      await turn('Second?').getByText('The pergola.').waitFor();
      const address = window.page.url();
      await window.open('/app/search?q=gazebo&type=investigation');
      await window.page
        .getByRole('list', { name: 'Results' })
        .getByRole('link', { name: /Answer/ })
        .click();
      await turn('First?').getByText('The gazebo.').waitFor();
      await turn('Second?').getByText('The pergola.').waitFor();
      expect(window.page.url()).toBe(address);
    });

    it('shows the whole of a long answer', async () => {
      const piece = (n: number) => `Paragraph ${n} ${'with some words '.repeat(30)}\n\n`;
      const text = [...Array.from({ length: 400 }, (_, n) => piece(n)), 'The very end.'];
      await ask('Tell me all.', { text });
      await turn('Tell me all.').getByText('The very end.').waitFor();
      expect(await turn('Tell me all.').locator('p').count()).toBeGreaterThan(400);
    });

    it('can be stopped', async () => {
      await ask('Is all well?', { text: ['Half'], instead: 'hang' });
      await turn('Is all well?').getByText('Half').waitFor();
      await window.page.getByRole('button', { name: 'Stop' }).click();
      await turn('Is all well?').getByRole('alert').getByText('you stopped this turn').waitFor();
      expect(await storedTurn()).toMatchObject({ status: 'failed', content: 'Half' });
    });

    it('shows a failure with the id of its request, and asks again', async () => {
      await ask('Is all well?', { error: { code: 500, message: 'inner' } });
      const problem = turn('Is all well?').getByRole('alert');
      await problem.getByText('request').waitFor();
      const [stored] = await readMessages(world.database.db);
      expect(await problem.getByRole('code').or(problem.locator('code')).textContent()).toBe(
        stored?.request_id,
      );
      scriptChat(gateway, { text: ['Now it is.'] });
      await problem.getByRole('button', { name: 'Ask again' }).click();
      await turn('Is all well?').getByText('Now it is.').waitFor();
    });

    it('works by keyboard alone, with the approval of a mail', async () => {
      const { page } = window;
      scriptChat(gateway, { calls: [mailCall] }, { text: ['Sent.'] });
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
      expect(mail.delivered).toHaveLength(1);
    });
  });

  describe('a mail', () => {
    it('is sent as the dialog showed it, once it is approved', async () => {
      await askForMail();
      expect(mail.delivered).toHaveLength(0);
      await dialog().getByText('send_report_email').waitFor();
      const shown = (label: string) =>
        dialog().getByText(label, { exact: true }).locator('xpath=following-sibling::*');
      const to = await shown('To').textContent();
      const subject = await shown('Subject').textContent();
      await dialog().getByRole('heading', { name: 'All is well' }).waitFor();
      await dialog().getByRole('tab', { name: 'As it is written' }).click();
      const text = await dialog().getByRole('region', { name: 'Mail' }).textContent();
      await dialog()
        .getByRole('timer')
        .getByText(/^(2:00|1:5\d) left$/)
        .waitFor();
      await dialog().getByRole('button', { name: 'Approve' }).click();
      await turn('Mail the week.').getByText('As you say.').waitFor();
      expect(mail.delivered).toMatchObject([{ to: [to], subject, text }]);
      expect(mail.delivered).toMatchObject([
        { subject: report.subject, text: report.content_markdown },
      ]);
      const card = turn('Mail the week.').getByRole('button', { name: /send_report_email/ });
      await card.getByText('Approved').waitFor();
      await window.page.reload();
      await card.getByText('Approved').waitFor();
    });

    it('is not sent when it is rejected, which its card says', async () => {
      await askForMail();
      await dialog().getByRole('button', { name: 'Reject' }).click();
      await turn('Mail the week.').getByText('As you say.').waitFor();
      const card = turn('Mail the week.').getByRole('button', { name: /send_report_email/ });
      await card.getByText('Rejected').waitFor();
      expect(mail.delivered).toHaveLength(0);
      await window.page.reload();
      await card.getByText('Rejected').waitFor();
    });

    it('can be put off, and is asked about again', async () => {
      await askForMail();
      await window.page.keyboard.press('Escape');
      await dialog().waitFor({ state: 'detached' });
      const card = turn('Mail the week.').getByRole('button', { name: /send_report_email/ });
      await card.getByText('Waits for you').waitFor();
      await window.page.getByRole('button', { name: 'Decide about send_report_email' }).click();
      await dialog().getByRole('button', { name: 'Reject' }).click();
      await card.getByText('Rejected').waitFor();
    });

    it('that was decided in another window is said to be', async () => {
      await askForMail();
      const other = await world.openWindow();
      await other.logIn();
      await other.open(new URL(window.page.url()).pathname);
      await other.page.getByRole('dialog').getByText('Send this mail?').waitFor();
      // Only the second one is told what became of the first.
      await window.page.route('**/chat/confirm', async (route) => {
        await other.page.getByRole('button', { name: 'Reject' }).click();
        await other.page.getByRole('dialog').waitFor({ state: 'detached' });
        await route.continue();
      });
      await dialog().getByRole('button', { name: 'Approve' }).click();
      await turn('Mail the week.')
        .getByRole('button', { name: /send_report_email/ })
        .getByText('Rejected')
        .waitFor();
      expect(mail.delivered).toHaveLength(0);
      await other.context.close();
    });
  });

  describe('a reload', () => {
    it('in the middle of an answer shows the question at once, and the answer when it comes', async () => {
      const gate = Promise.withResolvers<void>();
      await ask('Is all well?', { text: ['All is well.'], gate: gate.promise });
      await turn('Is all well?').getByText('All is well.').waitFor();
      await window.page.reload();
      await turn('Is all well?').getByText('Still working on the answer…').waitFor();
      expect(await turn('Is all well?').getByText('All is well.').count()).toBe(0);
      gate.resolve();
      await turn('Is all well?').getByText('All is well.').waitFor();
      expect(await storedTurn()).toMatchObject({ status: 'completed' });
    });

    it('is not needed to find an answer again after a look at another page', async () => {
      const gate = Promise.withResolvers<void>();
      await ask('Is all well?', { text: ['All is well.'], gate: gate.promise });
      await turn('Is all well?').getByText('All is well.').waitFor();
      await window.page.getByRole('link', { name: 'Runs' }).click();
      await window.page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
      await window.page.goBack();
      await turn('Is all well?').getByText('Still working on the answer…').waitFor();
      gate.resolve();
      await turn('Is all well?').getByText('All is well.').waitFor();
      expect(await storedTurn()).toMatchObject({ status: 'completed' });
    });

    it('in the middle of an answer can still stop it', async () => {
      await ask('Is all well?', { text: ['Half'], instead: 'hang' });
      await turn('Is all well?').getByText('Half').waitFor();
      await window.page.reload();
      await window.page.getByRole('button', { name: 'Stop' }).click();
      await turn('Is all well?').getByRole('alert').waitFor();
      expect(await storedTurn()).toMatchObject({ status: 'failed', content: 'Half' });
    });

    it('during a confirmation shows it again, and what it approves is sent', async () => {
      await askForMail();
      await window.page.reload();
      await dialog().getByText('Send this mail?').waitFor();
      await dialog().getByText(ADDRESSES[1]).waitFor();
      await dialog().getByRole('button', { name: 'Approve' }).click();
      await turn('Mail the week.').getByText('As you say.').waitFor();
      expect(mail.delivered).toMatchObject([{ subject: report.subject }]);
    });

    it('after the server has lost the answer offers to ask again', async () => {
      const { db } = world.database;
      const id = randomUUID();
      const text = "INSERT INTO chat_sessions (id, username, session_name) VALUES ($1, 'ada', 'x')";
      await sql(db, text, [id]);
      await insert(db, 'chat_messages', {
        session_id: id,
        username: 'ada',
        role: 'user',
        content: 'Is all well?',
        request_id: 'lost-1',
      });
      await window.open(`/app/chat/${id}`);
      await turn('Is all well?').getByText('There is no answer').waitFor();
      scriptChat(gateway, { text: ['Now it is.'] });
      await turn('Is all well?').getByRole('button', { name: 'Ask again' }).click();
      await window.page.getByText('Now it is.').waitFor();
    });
  });

  describe('a conversation', () => {
    const change = async (name: string, how: string) => {
      await window.page.getByRole('button', { name: `Change ${name}` }).click();
      await window.page.getByRole('menuitem', { name: how }).click();
    };

    it('is renamed', async () => {
      await ask('Is all well?', { text: ['Yes.'] });
      await turn('Is all well?').getByText('Yes.').waitFor();
      await change('Is all well?', 'Rename');
      await dialog().getByLabel('Name').fill('Full disks');
      await dialog().getByRole('button', { name: 'Rename' }).click();
      await window.page.getByRole('link', { name: 'Full disks' }).waitFor();
      await window.page.getByRole('heading', { name: 'Full disks', level: 1 }).waitFor();
      const rows = await sql(world.database.db, 'SELECT session_name FROM chat_sessions');
      expect(rows).toEqual([{ session_name: 'Full disks' }]);
    });

    it('is deleted once that is confirmed, with an answer that is under way', async () => {
      await ask('Is all well?', { text: ['Half'], instead: 'hang' });
      await turn('Is all well?').getByText('Half').waitFor();
      await change('Is all well?', 'Delete');
      await dialog().getByRole('button', { name: 'Keep it' }).click();
      await change('Is all well?', 'Delete');
      await dialog().getByRole('button', { name: 'Delete' }).click();
      await window.page.getByText('Your conversations will be listed here.').waitFor();
      expect(new URL(window.page.url()).pathname).toBe('/app/chat');
      expect(await sql(world.database.db, 'SELECT FROM chat_sessions')).toEqual([]);
    });

    it('that is not there says so', async () => {
      await window.open(`/app/chat/${randomUUID()}`);
      await window.page.getByRole('heading', { name: 'There is no such conversation' }).waitFor();
    });
  });

  describe('what others wrote', () => {
    const markdown = [
      '<script>document.title = "taken"</script> <img src=x onerror="document.title=1">',
      '[script](javascript:document.title=1) [data](data:text/html,x) [act](/chat?question=x)',
      `[own](/app/runs) [site](https://example.com/a) [name](https://you@example.com/)`,
      '![picture](https://example.com/p.png) \u202Egpj.exe',
      'w'.repeat(10_000),
    ].join('\n\n');

    it('is shown as text, and its links lead nowhere else', async () => {
      const { complaints, page } = window;
      await insertLog(world.database.db, { message: markdown });
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
        ['own', `${world.server.url}/app/runs`, rel],
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

    it('is shown as it is written when it would overload the browser', async () => {
      await ask('How deep?', { text: [`${'>'.repeat(20_000)} deep`] });
      await turn('How deep?').locator('pre').last().waitFor();
      expect(await turn('How deep?').locator('blockquote').count()).toBe(0);
      expect(await turn('How deep?').locator('pre').last().textContent()).toMatch(/> deep$/);
      expect(window.complaints).toEqual([]);
    });
  });

  it('has its conversations in a drawer on a phone, without scrolling sideways', async () => {
    const { page } = window;
    await ask('Is all well?', { text: ['Yes.'] });
    await turn('Is all well?').getByText('Yes.').waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    await window.open('/app/chat');
    const width = () => page.evaluate<number>('document.documentElement.scrollWidth');
    await expect.poll(width).toBeLessThanOrEqual(390);
    await page.getByRole('button', { name: 'Conversations' }).click();
    await dialog().getByRole('link', { name: 'Is all well?' }).click();
    await turn('Is all well?').getByText('Yes.').waitFor();
    await dialog().waitFor({ state: 'detached' });
    await expect.poll(width).toBeLessThanOrEqual(390);
  });

  describe.each(['light', 'dark'] as const)('in the %s theme', (colorScheme) => {
    beforeEach(() => window.page.emulateMedia({ colorScheme, reducedMotion: 'reduce' }));

    it('the beginning has no violation that axe finds', async () => {
      expect(await findViolations(window.page)).toEqual([]);
      expect(window.complaints).toEqual([]);
    });

    it('a conversation has none', async () => {
      const text =
        '## Why\n\n`code`, [link](https://example.com)\n\n| a | b |\n|---|---|\n| 1 | 2 |';
      await ask(
        'Is all well?',
        { calls: [{ id: 'a', name: 'list_backup_runs' }] },
        { text: [text] },
      );
      await turn('Is all well?').getByRole('table').waitFor();
      await turn('Is all well?')
        .getByRole('button', { name: /list_backup_runs/ })
        .click();
      await turn('Is all well?').getByRole('region', { name: 'Result' }).waitFor();
      await ask('And now?', { error: { code: 500, message: 'inner' } });
      await turn('And now?').getByRole('alert').waitFor();
      expect(await findViolations(window.page)).toEqual([]);
      expect(window.complaints).toEqual([]);
    });

    it('the open dialog has none', async () => {
      await askForMail();
      // Without the open stream, after which the network would not come to rest.
      await window.page.reload();
      await dialog().getByText('Send this mail?').waitFor();
      expect(await findViolations(window.page)).toEqual([]);
      await dialog().getByRole('tab', { name: 'As it is written' }).click();
      await dialog().getByRole('region', { name: 'Mail' }).getByText('# All is well').waitFor();
      expect(await findViolations(window.page)).toEqual([]);
      await dialog().getByRole('button', { name: 'Reject' }).click();
      await turn('Mail the week.').getByText('As you say.').waitFor();
      expect(window.complaints).toEqual([]);
    });
  });
});

describe.skipIf(!hasChromium)('with little time to decide', () => {
  it('a mail that nobody decides about is not sent, and its card says so', async () => {
    const [gateway, mail] = await Promise.all([startGateway(), startMailService()]);
    const world = await startPageWorld({
      ...chatEnvironment(gateway),
      ...mail.environment,
      HITL_CONFIRMATION_TIMEOUT_SECONDS: '2',
    });
    try {
      const { logIn, open, page } = await world.openWindow();
      await logIn();
      await open('/app/chat');
      scriptChat(gateway, { calls: [mailCall] }, { text: ['Nobody approved it.'] });
      await page.getByRole('textbox', { name: 'Question' }).fill('Mail the week.');
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor();
      await page.getByText('Nobody approved it.').waitFor();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page
        .getByRole('button', { name: /send_report_email/ })
        .getByText('Timed out')
        .waitFor();
      expect(mail.delivered).toHaveLength(0);
    } finally {
      await world.close();
      await Promise.all([gateway.close(), mail.close()]);
    }
  });
});

describe.skipIf(!hasChromium)('without a gateway', () => {
  it('the chat says how to connect one', async () => {
    const gateway = await startGateway();
    const world = await startPageWorld({
      GATEWAY_BASE_URL: gateway.url,
      GATEWAY_MODEL: 'acme/chat-free',
    });
    try {
      const { logIn, open, page } = await world.openWindow();
      await logIn();
      await open('/app/chat');
      await page.getByRole('button', { name: 'Why did the last run fail?' }).click();
      const problem = page.getByRole('alert');
      await problem.getByText('No model is connected').waitFor();
      await problem.getByText('GATEWAY_API_KEYS', { exact: true }).waitFor();
      await problem.getByRole('button', { name: 'Ask again' }).waitFor();
    } finally {
      await world.close();
      await gateway.close();
    }
  });
});
