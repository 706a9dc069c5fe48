import { beforeAll, describe, expect, it } from 'vitest';
import { hasChromium } from '../support/chromium.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insertLog, insertResult, insertRun, sql } from '../support/records.ts';

const HOSTILE = '<img src=x onerror="document.title=1"> <mark>zebra</mark> \u202Egpj.exe';

describe.skipIf(!hasChromium)('searching (skipped without Chromium)', () => {
  const site = usePage({ isEmbedded: true });
  let run: number;

  beforeAll(async () => {
    const { db } = site;
    run = await insertRun(db, { status: 'completed', total_repos: 1, failed: 1 });
    await insertResult(db, run, 'acme/widgets', {
      status: 'failed',
      error_message: 'fatal: the lighthouse is dark',
    });
    await insertLog(db, {
      run_id: run,
      level: 'error',
      repository: 'acme/widgets',
      message: 'clone of the lighthouse failed',
    });
    await insertLog(db, { level: 'info', message: 'the lighthouse was looked at by nobody' });
    await insertLog(db, { run_id: run, level: 'warn', message: HOSTILE });
    await insertLog(db, {
      run_id: run,
      level: 'info',
      message: `${'lorem '.repeat(500)} needleword ${'x'.repeat(10_000)}`,
    });
    // Gives Postgres the statistics of the new rows, which it has not gathered by itself yet.
    await sql(db, 'ANALYZE');
  });

  const results = () => site.page.getByRole('list', { name: 'Results' }).getByRole('listitem');
  const ask = async (words: string) => {
    await site.page.getByLabel('Search for').fill(words);
    await site.page.keyboard.press('Enter');
  };

  it('explains what can be found before the first query', async () => {
    const { open, page } = site;
    await open('/app/search');
    await page.getByRole('heading', { name: 'Search everything that was recorded' }).waitFor();
    await page.getByText('finds both words, in any form').waitFor();
  });

  it('starts on Enter, highlights the words, and keeps the query in the address', async () => {
    const { open, page } = site;
    await open('/app/search');
    await ask('lighthouse -nobody');
    await results().first().waitFor();
    expect(await results().count()).toBe(2);
    expect(await results().locator('mark').allTextContents()).toEqual(['lighthouse', 'lighthouse']);
    expect(new URL(page.url()).searchParams.get('q')).toBe('lighthouse -nobody');
    await page.reload();
    await results().first().waitFor();
    expect(await results().count()).toBe(2);
    expect(await page.getByLabel('Search for').inputValue()).toBe('lighthouse -nobody');
  });

  it('counts the results of each kind, and keeps the chosen kind in the address', async () => {
    const { open, page } = site;
    await open('/app/search?q=lighthouse');
    await page.getByRole('radio', { name: 'All (3)' }).waitFor({ state: 'attached' });
    await page.getByRole('radio', { name: 'Answers (0)' }).waitFor({ state: 'attached' });
    await page.getByText('Results (1)').click();
    await page.waitForURL(/type=backup_result/);
    await expect.poll(() => results().count()).toBe(1);
    await page.reload();
    await results().getByText('the lighthouse is dark').waitFor();
    expect(await results().count()).toBe(1);
    await page.getByRole('radio', { name: 'Logs (2)' }).waitFor({ state: 'attached' });
    expect(await page.getByRole('radio', { name: 'Results (1)' }).isChecked()).toBe(true);
    await page.goBack();
    await expect.poll(() => results().count()).toBe(3);
  });

  it('links a result to its run, and a log line without a run to the logs', async () => {
    const { open, page } = site;
    await open('/app/search?q=%22lighthouse+is+dark%22');
    await page.getByRole('link', { name: `Result of acme/widgets in run #${run}` }).click();
    await page.getByRole('heading', { name: `Run #${run}`, level: 1 }).waitFor();
    await open('/app/search?q=looked+nobody');
    await results().getByRole('link').click();
    await page.getByRole('heading', { name: 'Logs', level: 1 }).waitFor();
  });

  it('shows the matching part of a long line', async () => {
    const { open } = site;
    await open('/app/search?q=needleword');
    await results().locator('mark', { hasText: 'needleword' }).waitFor();
    const [shown = ''] = await results().allTextContents();
    expect(shown.length).toBeLessThan(1_000);
  });

  it('explains in plain words why results may be missing', async () => {
    const { open, page } = site;
    await open('/app/search?q=lighthouse');
    await page.getByRole('note').getByText('Only words were compared.').waitFor();
    expect(await page.getByText('embedding generation').count()).toBe(0);
  });

  it('says when nothing was found', async () => {
    const { open, page } = site;
    await open('/app/search?q=xylophone');
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor();
  });

  it('shows hostile text as plain text', async () => {
    const { complaints, open, page } = site;
    await open('/app/search?q=zebra');
    await results().getByText('<img src=x onerror').waitFor();
    // The only mark is the highlight of the word that was searched for.
    expect(await results().locator('mark').allTextContents()).toEqual(['zebra']);
    expect(await results().locator('img').count()).toBe(0);
    expect(await page.title()).toBe('Search · Backup Observatory');
    expect(complaints).toEqual([]);
  });

  it('shows the request id of a failure', async () => {
    const { open, page } = site;
    await page.route('**/search', (route) =>
      route.request().method() === 'POST'
        ? route.continue({ postData: '{"query":' })
        : route.continue(),
    );
    await open('/app/search?q=lighthouse');
    await page.getByRole('alert').getByText('request ID').waitFor();
  });

  it('fits a phone, without scrolling sideways', async () => {
    const { open, page } = site;
    await page.setViewportSize({ width: 390, height: 800 });
    await open('/app/search?q=needleword');
    await results().first().waitFor();
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(390);
  });

  it('works by keyboard alone', async () => {
    const { open, page } = site;
    await open('/app/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('textbox', { name: 'Go to' }).waitFor();
    await page.keyboard.type('Search');
    await page.getByRole('button', { name: 'Search', exact: true }).last().waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Search', level: 1 }).waitFor();
    // The palette returns the focus while it closes.
    await page.getByRole('textbox', { name: 'Go to' }).waitFor({ state: 'detached' });
    await page.getByLabel('Search for').focus();
    await page.keyboard.type('"lighthouse is dark"');
    await page.keyboard.press('Enter');
    await results().first().waitFor();
    expect(await results().count()).toBe(1);
  });

  it.each(['/app/search', '/app/search?q=lighthouse'])(
    'passes the axe checks on %s',
    async (place) => {
      const { complaints, open, page } = site;
      await open(place);
      if (place.includes('q=')) await results().first().waitFor();
      expect(await findViolations(page)).toEqual([]);
      expect(complaints).toEqual([]);
    },
  );
});
