import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { chatEnvironment, readMessages, type ScriptedStep, scriptChat, waitFor } from './chat.ts';
import { type Gateway, startGateway } from './gateway.ts';
import { ADDRESSES, type MailService, startMailService } from './mail.ts';
import { type PageWorld, startPageWorld, type Window } from './page.ts';
import { sql } from './records.ts';

/** A mail that a model asks to send. */
export const report = {
  subject: 'The week',
  recipients: [ADDRESSES[1]],
  content_markdown: '# All is well\n\n- one\n- two',
};

/** The call of the tool that sends it. */
export const mailCall = { id: 'call_mail', name: 'send_report_email', args: report };

/**
 * The chat in a browser, for each test of the group that calls this: an open page without conversations, on the
 * server of `npm start`. Only the model and the mail service are stand-ins.
 */
export function useChatPage() {
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

  return {
    ...{ question, turn, dialog, ask, askForMail, storedTurn },
    get world() {
      return world;
    },
    get gateway() {
      return gateway;
    },
    get mail() {
      return mail;
    },
    get window() {
      return window;
    },
  };
}
