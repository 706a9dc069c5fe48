import { beforeAll, describe, expect, it } from 'vitest';
import { recordStoring } from '../../lib/records/recording/stores.ts';
import { hasChromium } from '../support/chromium.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insertResult, insertRun, sql } from '../support/records.ts';

const HOSTILE = '<img src=x onerror="document.title=1">';
const REASON = `AccessDenied: the key may not write ${HOSTILE} ${'x'.repeat(300)}`;

describe.skipIf(!hasChromium)('stores on the page (skipped without Chromium)', () => {
  const site = usePage();

  beforeAll(async () => {
    const { db } = site;
    const run = await insertRun(db, { status: 'completed', total_repos: 2, successful: 2 });
    await insertResult(db, run, 'acme/stored');
    await insertResult(db, run, 'acme/alone');
    const record = (store: string, version: number | null, reason = '') =>
      recordStoring(db, { repository: 'acme/stored', store, version, reason });
    await record('file:///mnt/nas', 7);
    await record('file:///mnt/plain', null);
    await record('s3://backups/git', 5);
    await record('s3://backups/git', 7, REASON);
    await record('s3://new/git', 7, 'no such bucket');
    await record('s3://old/git', 5);
    await record('s3://left/git', 6);
    for (let version = 1; version <= 7; version++) {
      await sql(
        db,
        "INSERT INTO archive_versions (repo_full_name, version) VALUES ('acme/stored', $1::int)",
        [version],
      );
    }
    await sql(
      db,
      `UPDATE archive_stores SET stored_at = now() - interval '3 days 1 hour',
         failing_since = now() - interval '2 days 1 hour' WHERE store = 's3://backups/git'`,
    );
    await sql(
      db,
      `UPDATE archive_stores SET unused_since = now() - interval '4 days 1 hour'
       WHERE store = 's3://left/git'`,
    );
  });

  const section = () => site.page.getByRole('region', { name: 'Off-site' });

  it('show what each has, failing ones first, with the reason and since when', async () => {
    await site.open('/app/repositories/acme/stored?tab=copies');
    await section().getByText('file:///mnt/nas').waitFor();
    const stores = await section().locator('bdi').allTextContents();
    expect(stores).toEqual([
      's3://backups/git',
      's3://new/git',
      's3://old/git',
      'file:///mnt/nas',
      'file:///mnt/plain',
      's3://left/git',
    ]);
    const failing = section().getByRole('alert');
    expect(await failing.count()).toBe(4);
    const first = await failing.first().textContent();
    expect(first).toContain('First failed 2 days ago');
    expect(first).toContain(REASON);
    expect(first).toContain('version 5, stored 3 days ago');
    expect(await failing.nth(1).textContent()).toContain('nothing stored yet');
    expect(await failing.nth(2).textContent()).toContain('2 versions behind');
    const unused = await failing.last().textContent();
    expect(unused).toContain('This store is no longer configured');
    expect(unused).toContain('Since a run 4 days ago');
    const shown = await section().textContent();
    expect(shown).toContain('file:///mnt/nasversion 7, stored just now');
    expect(shown).toContain('file:///mnt/plainstored just now');
  });

  it('are explained for a repository that is not stored anywhere else', async () => {
    await site.open('/app/repositories/acme/alone?tab=copies');
    await section().getByText('BACKUP_STORES').waitFor();
    expect(await section().getByRole('alert').count()).toBe(0);
  });

  it('pass the axe checks', async () => {
    const { complaints, open, page } = site;
    for (const name of ['stored', 'alone']) {
      await open(`/app/repositories/acme/${name}?tab=copies`);
      await section().locator('bdi, code').first().waitFor();
      expect(await findViolations(page)).toEqual([]);
    }
    expect(await page.title()).not.toBe('1');
    // The missing archive gets a 404, which the browser reports.
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
  });

  it('fit the width of a phone', async () => {
    const { open, page } = site;
    await page.setViewportSize({ width: 390, height: 800 });
    await open('/app/repositories/acme/stored?tab=copies');
    await section().getByText('s3://backups/git').waitFor();
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(390);
  });
});
