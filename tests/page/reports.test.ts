import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { addReport } from '../../lib/records/reports.ts';
import { hasChromium } from '../support/chromium.ts';
import { type MailService, startMailService } from '../support/mail.ts';
import { ADA } from '../support/observatory-client.ts';
import { findViolations, usePage, withPage } from '../support/page.ts';
import { insertLog, insertResult, insertRun } from '../support/records.ts';

// A real browser with the server of `npm start`, with a stand-in for the mail service.

describe.skipIf(!hasChromium)('the page of reports (skipped without Chromium)', () => {
  let mail: MailService;
  let foreign: Foreign;
  let run: number;
  let windows: number;

  beforeAll(async () => {
    [mail, foreign] = await Promise.all([startMailService(), startForeign()]);
  });
  afterAll(() => Promise.all([mail.close(), foreign.close()]));
  const site = usePage({ environment: () => mail.environment });
  beforeAll(async () => {
    const { db } = site;
    run = await insertRun(db, { status: 'completed', total_repos: 2, successful: 1, failed: 1 });
    const message = hostile(foreign.url);
    await insertResult(db, run, 'acme/web', { status: 'failed', error_message: message });
    await insertResult(db, run, 'acme/api', { status: 'completed' });
    await insertLog(db, { run_id: run, level: 'error', message, repository: 'acme/web' });
  });

  beforeEach(() => {
    windows = site.context.pages().length;
  });

  const heading = (name: string | RegExp) => site.page.getByRole('heading', { name, level: 1 });
  const button = (name: string) => site.page.getByRole('button', { name, exact: true });
  const preview = () => site.page.frameLocator('iframe[title="Preview of the report"]');

  /** Stores a report exactly as given, and returns its id. */
  async function store(subject: string, content: { html?: string; markdown?: string } = {}) {
    const { html = '<p>All is well.</p>', markdown = 'All is well.' } = content;
    const { id } = await addReport(site.db, {
      username: ADA.username,
      reportType: 'custom',
      subject,
      recipients: [],
      contentMarkdown: markdown,
      contentHtml: html,
    });
    return id;
  }

  it('explains what a report is while there is none', async () => {
    const { complaints, open, page } = site;
    await open('/app/reports');
    await page.getByText('No reports yet').waitFor();
    expect(complaints).toEqual([]);
  });

  it('creates a report of each kind, and lists it', async () => {
    const { complaints, open, page } = site;
    const made = [
      ['Latest backup', 'Repositories'],
      ['30-day summary', 'Days'],
      ['Investigation of a failure', 'acme/web'],
    ] as const;
    for (const [type, content] of made) {
      await open('/app/reports');
      await button('Create a report').click();
      await page.getByRole('radio', { name: type }).click();
      await page.getByLabel('Subject').fill(`Mine: ${type}`);
      await button('Create').click();
      await heading(`Mine: ${type}`).waitFor();
      await preview().getByText(content).first().waitFor();
    }
    await page.getByRole('link', { name: 'All reports' }).click();
    for (const [type] of made) {
      const row = page.getByRole('row').filter({ hasText: `Mine: ${type}` });
      await row.getByText('Not mailed').waitFor();
    }
    expect(complaints).toEqual([]);
  });

  it('creates a report of one run, or reports that the run does not exist', async () => {
    const { open, page } = site;
    await open('/app/reports');
    await button('Create a report').click();
    await page.getByLabel('Run').fill('999');
    await button('Create').click();
    await page.getByRole('alert').getByText('run 999 does not exist').waitFor();
    await page.getByLabel('Run').fill(String(run));
    await button('Create').click();
    await preview().getByText('acme/web').first().waitFor();
  });

  it('shows log messages as plain text', async () => {
    const { complaints, open, page } = site;
    await open('/app/reports');
    await button('Create a report').click();
    await page.getByRole('radio', { name: 'Investigation of a failure' }).click();
    await button('Create').click();
    await preview().getByText('<script>').first().waitFor();
    await expectNothingRan();
    expect(complaints).toEqual([]);
  });

  it('runs and loads nothing from HTML that should never have been stored', async () => {
    const id = await store('Hostile', { html: `<p>Read me</p>${hostile(foreign.url)}` });
    const { complaints, open, page } = site;
    await open(`/app/reports/${id}`);
    await preview().getByText('Read me').waitFor();
    await preview().getByRole('link', { name: 'Follow me' }).click();
    await page.waitForLoadState('networkidle');
    await expectNothingRan();
    // The frame's sandbox refused it, not only the policy of the page.
    expect(complaints.join('\n')).toContain("the document's frame is sandboxed");
    expect(await page.locator('iframe').getAttribute('sandbox')).toBe('');
  });

  async function expectNothingRan() {
    const { page } = site;
    expect(await page.title()).not.toContain('taken');
    expect(await preview().locator('[data-ran]').count()).toBe(0);
    expect(await preview().locator('body').count()).toBe(1);
    expect(page.context().pages()).toHaveLength(windows);
    expect(foreign.requests).toEqual([]);
  }

  it('offers the Markdown to read, copy and download', async () => {
    const id = await store('To copy', { markdown: '# Copied\n\n<b>as it is</b>' });
    const { context, open, page } = site;
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await open(`/app/reports/${id}`);
    await page.getByText('Markdown', { exact: true }).click();
    await page.getByText('<b>as it is</b>').waitFor();
    await button('Copy Markdown').click();
    await button('Copied').waitFor();
    const copied = await page.evaluate<string>('navigator.clipboard.readText()');
    expect(copied).toBe('# Copied\n\n<b>as it is</b>');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      button('Download').click(),
    ]);
    expect(download.suggestedFilename()).toBe(`report-${id.slice(0, 8)}.md`);
  });

  it('mails a report only to the addresses that were chosen and confirmed', async () => {
    const id = await store('For the boss');
    const { complaints, open, page } = site;
    await open(`/app/reports/${id}`);
    await button('Send…').click();
    await page.getByRole('checkbox', { name: 'Ops@example.com' }).uncheck();
    const before = mail.delivered.length;
    await button('Continue').click();
    await page.getByText('will be mailed to 1 address and nobody else').waitFor();
    const shown = page.getByRole('dialog').getByRole('listitem');
    expect(await shown.allInnerTexts()).toEqual(['boss@example.com']);
    // Nothing has been mailed so far.
    expect(mail.delivered).toHaveLength(before);
    await button('Send now').click();
    await page.getByText('Sent to boss@example.com').waitFor();
    await page.getByText('Mailed', { exact: true }).waitFor();
    expect(mail.delivered).toHaveLength(before + 1);
    const [sent] = mail.delivered.slice(-1);
    expect(sent).toMatchObject({ to: ['boss@example.com'], subject: 'For the boss' });
    expect(sent?.html).toContain('<p>All is well.</p>');
    expect(complaints).toEqual([]);
  });

  it('shows why a mail was not sent, at once and later', async () => {
    const id = await store('Refused');
    mail.faults.push({
      status: 422,
      body: { statusCode: 422, message: 'the domain is not verified' },
    });
    const { open, page } = site;
    await open(`/app/reports/${id}`);
    await button('Send…').click();
    await button('Continue').click();
    await button('Send now').click();
    await page.getByRole('dialog').getByText('the domain is not verified').waitFor();
    await page.reload();
    await page.getByText('The mail was not sent').waitFor();
    await open('/app/reports');
    const row = page.getByRole('row').filter({ hasText: 'Refused' });
    await row.getByText('Mail failed').waitFor();
    await row.getByText('the domain is not verified').waitFor();
  });

  it('turns the pages of the list', async () => {
    for (let number = 1; number <= 21; number += 1) await store(`Page filler ${number}`);
    const { open, page } = site;
    await open('/app/reports');
    await page.getByRole('link', { name: 'Page filler 21' }).waitFor();
    expect(await page.getByRole('link', { name: 'Page filler 1', exact: true }).count()).toBe(0);
    await button('Older').click();
    await page.getByRole('link', { name: 'Page filler 1', exact: true }).waitFor();
    expect(new URL(page.url()).search).toBe('?page=2');
    await button('Newer').click();
    await page.getByRole('link', { name: 'Page filler 21' }).waitFor();
  });

  it('passes the axe checks', async () => {
    const id = await store('Checked', { html: '<h2>One</h2><p>Two</p>' });
    const { complaints, open, page } = site;
    await open('/app/reports');
    await page.getByRole('link', { name: 'Checked' }).first().waitFor();
    expect(await findViolations(page)).toEqual([]);
    await button('Create a report').click();
    await page.getByRole('radio', { name: 'Latest backup' }).waitFor();
    expect(await findViolations(page)).toEqual([]);
    await open(`/app/reports/${id}`);
    await preview().getByText('Two').waitFor();
    expect(await findViolations(page)).toEqual([]);
    await button('Send…').click();
    await button('Continue').waitFor();
    expect(await findViolations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('fits the width of a phone', async () => {
    const id = await store('A subject that is rather long '.repeat(6));
    const { open, page } = site;
    await page.setViewportSize({ width: 390, height: 800 });
    for (const path of ['/app/reports', `/app/reports/${id}`]) {
      await open(path);
      await page.getByText('A subject that is rather long').first().waitFor();
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect(width).toBeLessThanOrEqual(390);
    }
  });
});

describe.skipIf(!hasChromium)('the page of reports without mail (skipped without Chromium)', () => {
  it('names the missing variables', async () => {
    await withPage({ SMTP_FROM: 'backups@example.com' }, async ({ open, page }) => {
      await open('/app/reports');
      await page.getByRole('button', { name: 'Create a report' }).click();
      await page.getByRole('button', { name: 'Create', exact: true }).click();
      await page.getByRole('button', { name: 'Send…' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText('RESEND_API_KEY and SMTP_TO not set').waitFor();
      expect(await dialog.getByRole('button', { name: 'Continue' }).count()).toBe(0);
    });
  });
});

/** A foreign server that must not receive any request. */
interface Foreign {
  url: string;
  requests: string[];
  close(): Promise<void>;
}

async function startForeign(): Promise<Foreign> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? '');
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** HTML that tries every way to run a script or send a request. */
function hostile(url: string): string {
  const act = `document.body.dataset.ran=1;top.document.title='taken';fetch('${url}/fetch')`;
  return [
    `<script>${act}</script>`,
    `<img src="${url}/image" onerror="${act}">`,
    `<img src="x" onerror="${act}">`,
    `<svg onload="${act}"></svg>`,
    `<iframe src="${url}/frame"></iframe>`,
    `<link rel="stylesheet" href="${url}/style">`,
    `<form action="${url}/form"><input autofocus onfocus="${act}"></form>`,
    `<a href="${url}/link">Follow me</a>`,
  ].join('');
}
