import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { hasChromium } from '../support/chromium.ts';
import { someDrill } from '../support/drills.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insertResult, insertRun } from '../support/records.ts';

const HOSTILE = '<img src=x onerror="document.title=1">';

describe.skipIf(!hasChromium)('restore drills on the page (skipped without Chromium)', () => {
  const site = usePage();

  beforeAll(async () => {
    const { db } = site;
    const run = await insertRun(db, { status: 'completed', total_repos: 3, successful: 3 });
    for (const name of ['acme/proven', 'acme/broken', 'acme/new']) {
      await insertResult(db, run, name);
    }
    const at = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();
    await recordDrill(
      db,
      someDrill({ repository: 'acme/proven', startedAt: at(50), storage: 's3://backups/git' }),
      null,
    );
    await recordDrill(db, someDrill({ repository: 'acme/broken', startedAt: at(100) }), null);
    await recordDrill(
      db,
      someDrill({
        ...{ repository: 'acme/broken', startedAt: at(3), version: null },
        ...{ outcome: 'failed', reason: `CHECKSUM_MISMATCH: ${HOSTILE}` },
      }),
      null,
    );
  });

  const section = () => site.page.getByRole('region', { name: 'Restore drills' });

  it('show when and from where a repository was proven', async () => {
    await site.open('/app/repositories/acme/proven?tab=drills');
    await section().getByText('Proven restorable').waitFor();
    expect(await section().textContent()).toContain(
      'Proven restorable 2 days ago from s3://backups/git, version 3.',
    );
    await section().getByRole('row').nth(1).waitFor();
    expect(await section().getByRole('row').count()).toBe(2);
  });

  it('show why the last one failed, and the proof before it', async () => {
    await site.open('/app/repositories/acme/broken?tab=drills');
    await section().getByRole('alert').waitFor();
    await section().getByRole('row').nth(2).waitFor();
    const text = await section().textContent();
    expect(text).toContain(`CHECKSUM_MISMATCH: ${HOSTILE}`);
    expect(text).toContain('Proven restorable 4 days ago from the archive folder');
    expect(await site.page.title()).not.toBe('1');
  });

  it('show how to run one if there was none', async () => {
    await site.open('/app/repositories/acme/new?tab=drills');
    await section().getByText('Not proven restorable yet').waitFor();
    expect(await section().textContent()).toContain('npm run worker -- drill');
  });

  it('are summed up in the list of repositories and on the overview', async () => {
    await site.open('/app/repositories?order=name');
    const row = (name: string) => site.page.getByRole('row').filter({ hasText: name });
    await row('acme/broken').getByText('failed 3 hours ago').waitFor();
    await row('acme/proven').getByText('2 days ago').waitFor();
    await row('acme/new').getByText('never', { exact: true }).waitFor();
    await site.open('/app/');
    await site.page.getByText('1 of 3').waitFor();
    await site.page.getByText('1 failed a drill').waitFor();
    await site.page
      .getByText('All 3 repositories are backed up. One of them failed a restore drill.')
      .waitFor();
    const attention = site.page.getByRole('region', { name: 'Needs attention' });
    expect(await attention.getByRole('alert').allTextContents()).toEqual([
      `acme/brokenrestore drill from the archive folder failed 3 hours agoCHECKSUM_MISMATCH: ${HOSTILE}`,
    ]);
  });

  it('can be downloaded as evidence for a chosen period', async () => {
    await site.open('/app/reports');
    const { page } = site;
    await page.getByLabel('From').fill('2026-01-01');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download HTML' }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(/^restore-evidence-2026-01-01-.*\.html$/);
    const text = await readFile(await download.path(), 'utf8');
    expect(text).toContain('Restore drills: 3, proven: 2, failed: 1');
    expect(text).not.toContain('<img');
    const [markdown] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download Markdown' }).click(),
    ]);
    expect(markdown.suggestedFilename()).toMatch(/^restore-evidence-2026-01-01-.*\.md$/);
    expect(await readFile(await markdown.path(), 'utf8')).toMatch(
      /^# [\s\S]+Restore drills: 3, proven: 2, failed: 1/,
    );
    await page.getByLabel('To (inclusive)').fill('2025-12-31');
    await page.getByText('The end is before the start').waitFor();
  });

  it('pass the axe checks and fit a phone', async () => {
    await site.page.setViewportSize({ width: 390, height: 844 });
    for (const path of [
      '/app/repositories/acme/broken',
      '/app/repositories',
      '/app/reports',
      '/app/',
    ]) {
      await site.open(path);
      expect(await findViolations(site.page)).toEqual([]);
      const width = await site.page.evaluate<number>('document.documentElement.scrollWidth');
      expect(width).toBeLessThanOrEqual(390);
    }
    // The missing archive gets a 404, which the browser reports.
    expect(site.complaints.filter((text) => !text.includes('404'))).toEqual([]);
  });
});
