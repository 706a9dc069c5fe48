import { beforeAll, describe, expect, it } from 'vitest';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { hasChromium } from '../support/chromium.ts';
import { someDrill } from '../support/drills.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insertLog, insertResult, insertRun, sql } from '../support/records.ts';

// That what is shown leads to what is behind it, and that tables can be ordered.

describe.skipIf(!hasChromium)('finding (skipped without Chromium)', () => {
  const site = usePage();
  let run: number;
  let line: number;

  beforeAll(async () => {
    const { db } = site;
    run = await insertRun(db, {
      status: 'completed',
      total_repos: 3,
      successful: 3,
      duration_ms: 5,
    });
    await insertRun(db, { status: 'completed', total_repos: 3, failed: 2, duration_ms: 90_000 });
    for (const [name, archive_size_bytes] of [
      ['acme/big', 5_000_000],
      ['acme/medium', 400_000],
      ['acme/small', 3_000],
    ] as const) {
      await insertResult(db, run, name, { status: 'completed', archive_size_bytes });
    }
    const startedAt = new Date().toISOString();
    await recordDrill(
      db,
      someDrill({ repository: 'acme/small', startedAt, outcome: 'failed', reason: 'CORRUPT' }),
      null,
    );
    await sql(db, "INSERT INTO incidents (rule) VALUES ('run_failed')");
    for (let n = 1; n <= 300; n++) {
      const id = await insertLog(db, { run_id: run, level: 'info', message: `line ${n}` });
      if (n === 100) line = id;
    }
  });

  const names = () =>
    site.page.getByRole('row').getByRole('link').filter({ hasText: 'acme/' }).allTextContents();

  it('orders a table by a click on a head, in both directions, and keeps it in the address', async () => {
    const { open, page } = site;
    await open('/app/repositories');
    const head = page.getByRole('columnheader', { name: 'Archive' });
    await head.getByRole('button').click();
    await page.waitForURL(/order=size/);
    await expect.poll(names).toEqual(['acme/big', 'acme/medium', 'acme/small']);
    expect(await head.getAttribute('aria-sort')).toBe('descending');
    await head.getByRole('button').press('Enter');
    await page.waitForURL(/reverse=true/);
    await expect.poll(names).toEqual(['acme/small', 'acme/medium', 'acme/big']);
    expect(await head.getAttribute('aria-sort')).toBe('ascending');
    await page.reload();
    await expect.poll(names).toEqual(['acme/small', 'acme/medium', 'acme/big']);
    expect(await findViolations(page)).toEqual([]);
  });

  it('orders runs, and the archived repositories of one', async () => {
    const { open, page } = site;
    await open('/app/runs');
    await page.getByRole('columnheader', { name: 'Duration' }).getByRole('button').click();
    const runs = () => page.getByRole('row').getByRole('link').allTextContents();
    await expect.poll(runs).toEqual([`#${run + 1}`, `#${run}`]);
    await open(`/app/runs/${run}`);
    const archive = page.getByRole('columnheader', { name: 'Archive' }).getByRole('button');
    await archive.click();
    await expect.poll(names).toEqual(['acme/small', 'acme/medium', 'acme/big']);
    await archive.click();
    await expect.poll(names).toEqual(['acme/big', 'acme/medium', 'acme/small']);
  });

  it.each([
    ['Good repositories', /\/repositories$/],
    ['Proven restorable', /\/repositories\?order=proof$/],
    ['All archives', /\/repositories\?order=size$/],
  ])('leads from the figure %s to the list behind it', async (label, place) => {
    const { open, page } = site;
    await open('/app/');
    await page
      .locator('div', { has: page.getByText(label, { exact: true }) })
      .last()
      .getByRole('link')
      .first()
      .click();
    await page.waitForURL(place);
    await page.getByRole('heading', { name: 'Repositories', exact: true }).waitFor();
  });

  it('leads from a failed drill to the repositories that failed one', async () => {
    const { open, page } = site;
    await open('/app/');
    await page.getByRole('link', { name: '1 failed a drill' }).click();
    await page.waitForURL(/proof=failing/);
    await expect.poll(names).toEqual(['acme/small']);
  });

  it('finds a setting by what it is for, and an open incident', async () => {
    const { open, page } = site;
    await open('/app/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('password');
    await page.getByRole('button', { name: 'Settings: Users' }).click();
    await page.waitForURL(/tab=users/);
    await open('/app/');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('run failed');
    const incident = page.getByRole('button', { name: /run failed/i });
    await incident.first().click();
    await page.waitForURL(/\/incidents/);
  });

  it('shows a line that was found among those around it', async () => {
    const { open, page } = site;
    await open(`/app/logs?run=${run}&line=${line}`);
    const marked = page.locator('[aria-current=true]');
    await marked.waitFor();
    expect(await marked.textContent()).toContain('line 100');
    await page.getByText('line 101', { exact: false }).first().waitFor();
    await page.getByRole('link', { name: 'See the newest lines' }).click();
    await page.getByText('line 300').waitFor();
    await open('/app/logs?line=999999999');
    await page.getByRole('heading', { name: 'This line is no longer there' }).waitFor();
    expect(await findViolations(page)).toEqual([]);
  });

  it('lists the anomalies of all repositories', async () => {
    const { db, open, page } = site;
    await open('/app/anomalies');
    await page.getByRole('heading', { name: 'Nothing to confirm' }).waitFor();
    await sql(
      db,
      "INSERT INTO anomalies (repo_full_name, version, kind) VALUES ('acme/big', 1, 'emptied')",
    );
    await open('/app/anomalies');
    await page.getByText('The repository was emptied').waitFor();
    expect(await findViolations(page)).toEqual([]);
  });
});
