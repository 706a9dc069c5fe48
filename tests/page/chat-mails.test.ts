import { describe, expect, it } from 'vitest';
import { chatEnvironment, scriptChat } from '../support/chat.ts';
import { mailCall, report, useChatPage } from '../support/chat-page.ts';
import { hasChromium } from '../support/chromium.ts';
import { startGateway } from '../support/gateway.ts';
import { startMailService } from '../support/mail.ts';
import { withPage } from '../support/page.ts';

describe.skipIf(!hasChromium)('mail from the chat (skipped without Chromium)', () => {
  const chat = useChatPage();
  const { turn, dialog, askForMail } = chat;

  describe('a mail', () => {
    it('is sent exactly as the dialog showed it once it is approved', async () => {
      await askForMail();
      expect(chat.mail.delivered).toHaveLength(0);
      await dialog().getByText('send_report_email').waitFor();
      const shown = (label: string) =>
        dialog().getByText(label, { exact: true }).locator('xpath=following-sibling::*');
      const to = await shown('To').textContent();
      const subject = await shown('Subject').textContent();
      await dialog().getByRole('heading', { name: 'All is well' }).waitFor();
      await dialog().getByRole('tab', { name: 'Source' }).click();
      const text = await dialog().getByRole('region', { name: 'Mail' }).textContent();
      await dialog()
        .getByRole('timer')
        .getByText(/^(2:00|1:5\d) left$/)
        .waitFor();
      await dialog().getByRole('button', { name: 'Approve' }).click();
      await turn('Mail the week.').getByText('As you say.').waitFor();
      expect(chat.mail.delivered).toMatchObject([{ to: [to], subject, text }]);
      expect(chat.mail.delivered).toMatchObject([
        { subject: report.subject, text: report.content_markdown },
      ]);
      const card = turn('Mail the week.').getByRole('button', { name: /send_report_email/ });
      await card.getByText('Approved').waitFor();
      await chat.site.page.reload();
      await card.getByText('Approved').waitFor();
    });

    it('is not sent when it is rejected, and its card says so', async () => {
      await askForMail();
      await dialog().getByRole('button', { name: 'Reject' }).click();
      await turn('Mail the week.').getByText('As you say.').waitFor();
      const card = turn('Mail the week.').getByRole('button', { name: /send_report_email/ });
      await card.getByText('Rejected').waitFor();
      expect(chat.mail.delivered).toHaveLength(0);
      await chat.site.page.reload();
      await card.getByText('Rejected').waitFor();
    });

    it('can be put off and decided later', async () => {
      await askForMail();
      await chat.site.page.keyboard.press('Escape');
      await dialog().waitFor({ state: 'detached' });
      const card = turn('Mail the week.').getByRole('button', { name: /send_report_email/ });
      await card.getByText('Waiting for you').waitFor();
      await chat.site.page.getByRole('button', { name: 'Decide on send_report_email' }).click();
      await dialog().getByRole('button', { name: 'Reject' }).click();
      await card.getByText('Rejected').waitFor();
    });

    it('shows the decision that was made in another window', async () => {
      await askForMail();
      const other = await chat.site.world.openWindow();
      await other.logIn();
      await other.open(new URL(chat.site.page.url()).pathname);
      await other.page.getByRole('dialog').getByText('Send this mail?').waitFor();
      // The other window decides first, just before this decision reaches the server.
      await chat.site.page.route('**/chat/confirm', async (route) => {
        await other.page.getByRole('button', { name: 'Reject' }).click();
        await other.page.getByRole('dialog').waitFor({ state: 'detached' });
        await route.continue();
      });
      await dialog().getByRole('button', { name: 'Approve' }).click();
      await turn('Mail the week.')
        .getByRole('button', { name: /send_report_email/ })
        .getByText('Rejected')
        .waitFor();
      expect(chat.mail.delivered).toHaveLength(0);
      await other.context.close();
    });
  });
});

describe.skipIf(!hasChromium)(
  'mail that nobody decides on in time (skipped without Chromium)',
  () => {
    it('is not sent, and its card says so', async () => {
      const [gateway, mail] = await Promise.all([startGateway(), startMailService()]);
      const environment = {
        ...chatEnvironment(gateway),
        ...mail.environment,
        HITL_CONFIRMATION_TIMEOUT_SECONDS: '2',
      };
      await withPage(environment, async ({ open, page }) => {
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
      }).finally(() => Promise.all([gateway.close(), mail.close()]));
    });
  },
);
