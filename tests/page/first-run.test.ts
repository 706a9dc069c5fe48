import type { Locator } from 'playwright-core';
import { beforeEach, describe, expect, it } from 'vitest';
import { hasChromium } from '../support/chromium.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insertResult, insertRun, sql } from '../support/records.ts';

// What a new user sees on a phone before and during the first backup.

const WIDTH = 390;

describe.skipIf(!hasChromium)('the first run (skipped without Chromium)', () => {
  const site = usePage({ setsClock: true, isEmbedded: true });

  beforeEach(async () => {
    await site.page.setViewportSize({ width: WIDTH, height: 844 });
  });

  it('is explained by a guide, with a complete command', async () => {
    const { open, page } = site;
    await open('/app/');
    const command = page.locator('pre', { hasText: 'npm run worker -- login github' });
    await command.waitFor();
    const box = await command.boundingBox();
    expect(box?.x).toBeGreaterThan(0);
    expect((box?.x ?? 0) + (box?.width ?? WIDTH)).toBeLessThan(WIDTH);
    await page.getByRole('button', { name: 'Copy' }).waitFor();
    expect(await findViolations(page)).toEqual([]);
  });

  it('appears within three seconds, and so does its end', async () => {
    const { open, page } = site;
    const { db } = site;
    await page.clock.install();
    await open('/app/');
    await page.getByRole('heading', { name: 'Set up your backups' }).waitFor();
    /** Gives the page a moment to render a response, but far too little time to send another request. */
    const comes = (what: Locator) =>
      expect
        .poll(() => page.clock.runFor(5).then(() => what.count()), { timeout: 120_000 })
        .toBe(1);
    // From here on, only this test moves the clock of the page.
    await page.clock.pauseAt(Date.now() + 3_600_000);
    const at = new Date().toISOString();
    const run = await insertRun(db, { status: 'running', started_at: at, heartbeat_at: at });
    await page.clock.runFor(3_000);
    await comes(page.getByRole('progressbar'));
    const days = (outcome: string) => page.getByRole('button', { name: `1 run, ${outcome}` });
    await comes(days('running'));

    await insertResult(db, run, 'acme/api');
    await sql(
      db,
      `UPDATE backup_runs SET status = 'completed', total_repos = 1, successful = 1,
         completed_at = now() WHERE id = ${run}`,
    );
    await page.clock.runFor(3_000);
    await comes(days('good'));
    expect(await page.getByRole('progressbar').count()).toBe(0);
    const right = async (it: Locator) => {
      const box = await it.boundingBox();
      return (box?.x ?? WIDTH) + (box?.width ?? WIDTH);
    };
    expect(await right(days('good'))).toBeLessThanOrEqual(
      (await right(days('good').locator('..'))) + 0.5,
    );
  });
});
