import { beforeAll, describe, expect, it, vi } from 'vitest';
import { hasChromium } from '../support/chromium.ts';
import { usePage } from '../support/page.ts';
import { insertLog, insertRun, sql } from '../support/records.ts';

describe.skipIf(!hasChromium)('the live log (skipped without Chromium)', () => {
  const site = usePage();
  let run: number;

  const write = (message: string, row: Record<string, string | number> = {}) =>
    insertLog(site.db, { run_id: run, message, level: 'info', ...row });

  beforeAll(async () => {
    run = await insertRun(site.db, { status: 'completed' });
  });

  const log = () => site.page.getByRole('log');
  const waitUntilLive = () => site.page.getByText('Live', { exact: true }).waitFor();

  it('continues after the server was down, and misses nothing', async () => {
    const { open, page } = site;
    await write('before the restart');
    await open('/app/logs');
    await waitUntilLive();
    await log().getByText('before the restart').waitFor();
    await site.world.restart(async () => {
      await page.getByText('Connection lost, retrying…').waitFor();
      await write('while the server was down');
    });
    await log().getByText('while the server was down').waitFor();
    await waitUntilLive();
    await write('after the restart');
    await log().getByText('after the restart').waitFor();
  });

  it('shows a line that is written while it opens', async () => {
    const { open, page } = site;
    let backlog: Promise<unknown> | null = null;
    await page.route('**/api/logs?*', async (route) => {
      if (new URL(route.request().url()).searchParams.get('limit') !== '1') {
        const fetched = route.fetch();
        backlog = fetched;
        return route.fulfill({ response: await fetched });
      }
      // After this round trip, a request that was sent at the same time as this one has been seen.
      await page.evaluate('0');
      await backlog;
      await write('written while it opened');
      return route.continue();
    });
    await open('/app/logs');
    await waitUntilLive();
    await log().getByText('written while it opened').waitFor();
  });

  it('holds back new lines while it is paused, and then shows them', async () => {
    const { open, page } = site;
    await open('/app/logs');
    await waitUntilLive();
    await write('the last line that was read');
    await log().getByText('the last line that was read').waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await write('a line that waits');
    await page.getByRole('button', { name: 'Resume (1 new)' }).click();
    await log().getByText('a line that waits').waitFor();
  });

  it('filters old and new lines by run, by repository and by words', async () => {
    const other = await insertRun(site.db, { status: 'completed' });
    const { open } = site;
    await write('old line of alpha', { repository: 'acme/api' });
    await write('old line of beta', { run_id: other, repository: 'acme/web' });
    const shown = async (address: string, news: string) => {
      await open(`/app/logs?${address}`);
      await waitUntilLive();
      await log().getByText('old line of alpha').waitFor();
      await write(`${news} of beta`, { run_id: other, repository: 'acme/web' });
      await write(`${news} of alpha`, { repository: 'acme/api' });
      await log().getByText(`${news} of alpha`).waitFor();
      expect(await log().getByText('of beta').count()).toBe(0);
    };
    await shown(`run=${run}`, 'first');
    await shown('repository=ACME/api', 'second');
    await shown('text=ALPHA%20line', 'third line');
  });

  it('keeps the lines that are being read while many new ones arrive', async () => {
    const { open } = site;
    const flood = (from: number, to: number) =>
      sql(
        site.db,
        `INSERT INTO execution_logs (run_id, level, message)
         SELECT ${run}, 'info', 'flood ' || n || '.' FROM generate_series(${from}, ${to}) AS n`,
      );
    const first = log().getByText('flood 1.', { exact: true });
    const height = () => log().evaluate((it): number => Reflect.get(it, 'scrollHeight'));
    await open('/app/logs?text=flood');
    await waitUntilLive();
    await flood(1, 5_000);
    await log().getByText('flood 5000.').waitFor();
    await vi.waitFor(
      async () => {
        await log().press('Home');
        expect(await first.count()).toBe(1);
      },
      { timeout: 20_000, interval: 200 },
    );
    const before = await height();
    await flood(5_001, 5_300);
    // The new lines are below those that are being read.
    await expect.poll(height, { timeout: 20_000 }).toBeGreaterThan(before + 300 * 20);
    expect(await first.count()).toBe(1);
  });

  it('renders only a few of thousands of lines, and loads older ones', async () => {
    const { open, page } = site;
    await sql(
      site.db,
      `INSERT INTO execution_logs (run_id, level, message)
       SELECT ${run}, 'info', 'line number ' || n || ' of many' FROM generate_series(1, 3000) AS n`,
    );
    await open('/app/logs?text=many');
    await waitUntilLive();
    await log().getByText('line number 3000 of many').waitFor();
    await page.getByRole('button', { name: 'Load older lines' }).click();
    const oldest = log().getByText('line number 2601 of many');
    await vi.waitFor(
      async () => {
        await log().press('Home');
        expect(await oldest.count()).toBe(1);
      },
      { timeout: 20_000, interval: 200 },
    );
    expect(await log().getByText('of many').count()).toBeLessThan(200);
  });
});
