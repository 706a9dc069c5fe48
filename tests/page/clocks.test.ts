import { describe, expect, it } from 'vitest';
import { hasChromium } from '../support/chromium.ts';
import { usePage } from '../support/page.ts';
import { insertResult, insertRun, sql } from '../support/records.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

describe.skipIf(!hasChromium)('a browser whose clock is wrong (skipped without Chromium)', () => {
  const site = usePage({ setsClock: true });

  it.each([
    ['5 minutes ahead', 5 * MINUTE_MS],
    ['2 days ahead', 2 * DAY_MS],
    ['3 days behind', -3 * DAY_MS],
    ['a year behind', -365 * DAY_MS],
  ])('shows the same as any other if it is %s', async (_case, offset) => {
    const { db, page, open } = site;
    await sql(db, 'TRUNCATE backup_runs CASCADE');
    const done = await insertRun(db, { status: 'completed', total_repos: 1, successful: 1 });
    await insertResult(db, done, 'acme/api', { status: 'failed' });
    await sql(db, `UPDATE backup_runs SET started_at = now() - interval '2 hours' WHERE id = $1`, [
      done,
    ]);
    const running = await insertRun(db, { status: 'running', total_repos: 3 });
    await sql(db, 'UPDATE backup_runs SET started_at = now(), heartbeat_at = now() WHERE id = $1', [
      running,
    ]);
    await page.clock.install({ time: Date.now() + offset });
    await open('/app/');
    await page.getByText('is under way').waitFor();
    await page.getByText('started just now').waitFor();
    expect(await page.getByText('may have stopped').count()).toBe(0);
    // The newest days are at the end of the strip.
    const bars = page.getByRole('button', { name: /: [12] runs?,/ });
    await bars.last().waitFor();
    const named = await bars.last().getAttribute('aria-label');
    const days = [0, 2].map((hours) => new Date(Date.now() - hours * 60 * MINUTE_MS));
    const names = new Intl.DateTimeFormat('en-US', { dateStyle: 'medium' });
    expect(days.map((day) => names.format(day))).toContain(named?.split(':')[0]);
  });
});
