import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { scriptChat } from '../support/chat.ts';
import { report, useChatPage } from '../support/chat-page.ts';
import { hasChromium } from '../support/chromium.ts';
import { ADDRESSES } from '../support/mail.ts';
import { insert, sql } from '../support/records.ts';

describe.skipIf(!hasChromium)('conversations in the chat (skipped without Chromium)', () => {
  const chat = useChatPage();
  const { turn, dialog, ask, askForMail, storedTurn } = chat;

  describe('a reload', () => {
    it('shows the question at once, and the running answer when it is complete', async () => {
      const gate = Promise.withResolvers<void>();
      await ask('Is all well?', { text: ['All is well.'], gate: gate.promise });
      await turn('Is all well?').getByText('All is well.').waitFor();
      await chat.site.page.reload();
      await turn('Is all well?').getByText('Still working on the answer…').waitFor();
      expect(await turn('Is all well?').getByText('All is well.').count()).toBe(0);
      gate.resolve();
      await turn('Is all well?').getByText('All is well.').waitFor();
      expect(await storedTurn()).toMatchObject({ status: 'completed' });
    });

    it('is not needed to get back to a running answer after visiting another page', async () => {
      const gate = Promise.withResolvers<void>();
      await ask('Is all well?', { text: ['All is well.'], gate: gate.promise });
      await turn('Is all well?').getByText('All is well.').waitFor();
      await chat.site.page.getByRole('link', { name: 'Runs' }).click();
      await chat.site.page.getByRole('heading', { name: 'Runs', level: 1 }).waitFor();
      await chat.site.page.goBack();
      await turn('Is all well?').getByText('Still working on the answer…').waitFor();
      gate.resolve();
      await turn('Is all well?').getByText('All is well.').waitFor();
      expect(await storedTurn()).toMatchObject({ status: 'completed' });
    });

    it('still allows a running answer to be stopped', async () => {
      await ask('Is all well?', { text: ['Half'], instead: 'hang' });
      await turn('Is all well?').getByText('Half').waitFor();
      await chat.site.page.reload();
      await chat.site.page.getByRole('button', { name: 'Stop' }).click();
      await turn('Is all well?').getByRole('alert').waitFor();
      expect(await storedTurn()).toMatchObject({ status: 'failed', content: 'Half' });
    });

    it('shows a pending confirmation again, which then sends the mail', async () => {
      await askForMail();
      await chat.site.page.reload();
      await dialog().getByText('Send this mail?').waitFor();
      await dialog().getByText(ADDRESSES[1]).waitFor();
      await dialog().getByRole('button', { name: 'Approve' }).click();
      await turn('Mail the week.').getByText('As you say.').waitFor();
      expect(chat.mail.delivered).toMatchObject([{ subject: report.subject }]);
    });

    it('offers to ask again when the server has lost the answer', async () => {
      const { db } = chat.site;
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
      await chat.site.open(`/app/chat/${id}`);
      await turn('Is all well?').getByText('No answer').waitFor();
      scriptChat(chat.gateway, { text: ['Now it is.'] });
      await turn('Is all well?').getByRole('button', { name: 'Ask again' }).click();
      await chat.site.page.getByText('Now it is.').waitFor();
    });
  });

  describe('a conversation', () => {
    const choose = async (name: string, action: string) => {
      await chat.site.page.getByRole('button', { name: `Options for ${name}` }).click();
      await chat.site.page.getByRole('menuitem', { name: action }).click();
    };

    it('can be renamed', async () => {
      await ask('Is all well?', { text: ['Yes.'] });
      await turn('Is all well?').getByText('Yes.').waitFor();
      await choose('Is all well?', 'Rename');
      await dialog().getByLabel('Name').fill('Full disks');
      await dialog().getByRole('button', { name: 'Rename' }).click();
      await chat.site.page.getByRole('link', { name: 'Full disks' }).waitFor();
      await chat.site.page.getByRole('heading', { name: 'Full disks', level: 1 }).waitFor();
      const rows = await sql(chat.site.db, 'SELECT session_name FROM chat_sessions');
      expect(rows).toEqual([{ session_name: 'Full disks' }]);
    });

    it('is deleted after confirmation, even while an answer is running', async () => {
      await ask('Is all well?', { text: ['Half'], instead: 'hang' });
      await turn('Is all well?').getByText('Half').waitFor();
      await choose('Is all well?', 'Delete');
      await dialog().getByRole('button', { name: 'Cancel' }).click();
      await choose('Is all well?', 'Delete');
      await dialog().getByRole('button', { name: 'Delete' }).click();
      await chat.site.page.getByText('No conversations yet.').waitFor();
      expect(new URL(chat.site.page.url()).pathname).toBe('/app/chat');
      expect(await sql(chat.site.db, 'SELECT FROM chat_sessions')).toEqual([]);
    });

    it('is reported as not found if it does not exist', async () => {
      await chat.site.open(`/app/chat/${randomUUID()}`);
      await chat.site.page.getByRole('heading', { name: 'Conversation not found' }).waitFor();
    });
  });
});
