import { beforeAll, describe, expect, it, vi } from 'vitest';
import { hasChromium } from '../support/chromium.ts';
import { startFaultProxy } from '../support/fault-proxy.ts';
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

  const insertMany = async (words: string, count: number, of = run) => {
    await sql(
      site.db,
      `INSERT INTO execution_logs (run_id, level, message)
       SELECT ${of}, 'info', '${words} ' || n || '.' FROM generate_series(1, ${count}) AS n`,
    );
  };
  /** Scrolls to the first line until all of these are there. */
  const readFromStart = (lines: string[]) =>
    vi.waitFor(
      async () => {
        await log().press('Home');
        for (const line of lines) {
          expect(await log().getByText(line, { exact: true }).count()).toBe(1);
        }
      },
      { timeout: 120_000, interval: 200 },
    );

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

  it('reads all of 1,500 lines that it missed while it was not connected', async () => {
    const { open, page } = site;
    await open('/app/logs?text=missed');
    await waitUntilLive();
    await write('the last one that was not missed');
    await log().getByText('the last one that was not missed').waitFor();
    await site.world.restart(() => insertMany('missed', 1_500));
    await log().getByText('missed 1500.').waitFor();
    await readFromStart(['the last one that was not missed', 'missed 1.', 'missed 2.']);
    // Nothing is left out in between: only the lines before these can be loaded.
    const height = await log().evaluate((it): number => Reflect.get(it, 'scrollHeight'));
    expect(height).toBeGreaterThan(1_500 * 20);
    expect(await page.getByRole('button', { name: 'Load older lines' }).count()).toBe(0);
  });

  it('loads older lines on demand if it missed more than it shows', async () => {
    const { open, page } = site;
    await open('/app/logs?text=flooded');
    await waitUntilLive();
    await site.world.restart(() => insertMany('flooded', 6_000));
    await log().getByText('flooded 6000.').waitFor();
    await readFromStart(['flooded 901.']);
    expect(await log().getByText('flooded 900.').count()).toBe(0);
    await page.getByRole('button', { name: 'Load older lines' }).click();
    await readFromStart(['flooded 701.']);
  });

  it('shows all missed lines of a run', async () => {
    const { open } = site;
    const one = await insertRun(site.db, { status: 'running' });
    await open(`/app/logs?run=${one}`);
    await waitUntilLive();
    await site.world.restart(() => insertMany('of a run', 1_200, one));
    await log().getByText('of a run 1200.').waitFor();
    await readFromStart(['of a run 1.']);
    await insertMany('later', 700, one);
    await vi.waitFor(
      async () => {
        await log().press('End');
        expect(await log().getByText('later 700.').count()).toBe(1);
      },
      { timeout: 120_000, interval: 200 },
    );
    await readFromStart(['of a run 1.']);
    const height = await log().evaluate((it): number => Reflect.get(it, 'scrollHeight'));
    expect(height).toBeGreaterThan(1_900 * 20);
  });

  it('is open in more tabs than a browser has connections to a server', async () => {
    const windows = [];
    for (let n = 0; n < 8; n += 1) {
      const window = await site.world.openWindow(site.context);
      await window.open('/app/logs?text=tab');
      await window.page.getByText('Live', { exact: true }).waitFor();
      windows.push(window.page);
    }
    await write('the first line for every tab');
    for (const page of windows) {
      await page.getByRole('log').getByText('the first line for every tab').waitFor();
    }
    // Closing the tab that came first ends no other's stream.
    await windows[0]?.close();
    await write('the second line for every tab');
    for (const page of windows.slice(1)) {
      await page.getByRole('log').getByText('the second line for every tab').waitFor();
    }
  });

  it('pauses in a tab that is hidden, which then reads what it missed', async () => {
    const { open, page } = site;
    const show = (isShown: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${!isShown}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);
    await open('/app/logs?text=hidden');
    await waitUntilLive();
    const other = await site.world.openWindow(site.context);
    await other.open('/app/logs?text=hidden');
    await other.page.getByText('Live', { exact: true }).waitFor();
    await show(false);
    await page.getByText('Connection lost').waitFor();
    await write('hidden from one');
    await other.page.getByRole('log').getByText('hidden from one').waitFor();
    expect(await log().getByText('hidden from one').count()).toBe(0);
    await show(true);
    await waitUntilLive();
    await log().getByText('hidden from one').waitFor();
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
      { timeout: 120_000, interval: 200 },
    );
    const before = await height();
    await flood(5_001, 5_300);
    // The new lines are below those that are being read.
    await expect.poll(height, { timeout: 120_000 }).toBeGreaterThan(before + 300 * 20);
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
      { timeout: 120_000, interval: 200 },
    );
    expect(await log().getByText('of many').count()).toBeLessThan(200);
  });
});

describe.skipIf(!hasChromium)('a live log that is dead (skipped without Chromium)', () => {
  const site = usePage({ setsClock: true });

  it('says that there is no sign of life, and is opened again', async () => {
    const { page } = site;
    const proxy = await startFaultProxy('127.0.0.1', Number(new URL(site.world.server.url).port));
    await page.clock.install();
    await page.goto(`http://${proxy.host}/app/logs`);
    await page.getByText('Live', { exact: true }).waitFor();
    await proxy.break('hangs');
    await page.clock.fastForward(39_000);
    await page.getByText('Live', { exact: true }).waitFor();
    await page.clock.fastForward(2_000);
    await page.getByText('No sign of life for 40 s').waitFor();
    await proxy.repair();
    await page.getByText('Live', { exact: true }).waitFor();
    await insertLog(site.db, { message: 'alive again' });
    await page.getByRole('log').getByText('alive again').waitFor();
    await proxy.close();
  });
});
