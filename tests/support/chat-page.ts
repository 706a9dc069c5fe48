import { afterAll, beforeAll, beforeEach } from 'vitest';
import { chatEnvironment, readMessages, type ScriptedStep, scriptChat, waitFor } from './chat.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { ADDRESSES, type MailService, startMailService } from './mail.ts';
import { usePage } from './page.ts';
import { sql } from './records.ts';

/** A mail that a model asks to send. */
export const report = {
  subject: 'The week',
  recipients: [ADDRESSES[1]],
  content_markdown: '# All is well\n\n- one\n- two',
};

/** A call of the tool that sends it. */
export const mailCall = { id: 'call_mail', name: 'send_report_email', args: report };

/**
 * Gives each test of the calling group the chat in a browser: an open page without conversations, on the server of `npm
 * start`. Only the model and the mail service are stand-ins.
 */
export function useChatPage() {
  let gateway: Gateway;
  let mail: MailService;

  beforeAll(async () => {
    [gateway, mail] = await Promise.all([startGateway(), startMailService()]);
  });
  afterAll(() => Promise.all([gateway.close(), mail.close()]));
  const site = usePage({
    environment: () => ({ ...chatEnvironment(gateway), ...mail.environment }),
  });
  beforeEach(async () => {
    mail.delivered.length = 0;
    await sql(site.db, 'TRUNCATE chat_sessions, chat_messages CASCADE');
    await site.open('/app/chat');
  });

  const question = () => site.page.getByRole('textbox', { name: 'Question' });
  const turn = (name: string) => site.page.getByRole('article', { name });
  const dialog = () => site.page.getByRole('dialog');
  /** Asks by pressing Enter; the model answers in these steps. */
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
    waitFor(async () => (await readMessages(site.db))[1] ?? null, 'a stored turn');

  return {
    ...{ site, question, turn, dialog, ask, askForMail, storedTurn },
    get gateway() {
      return gateway;
    },
    get mail() {
      return mail;
    },
  };
}
