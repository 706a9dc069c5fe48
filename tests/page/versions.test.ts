import { beforeAll, describe, expect, it } from 'vitest';
import { markPruned, recordVersion } from '../../lib/records/recording/versions.ts';
import { hasChromium } from '../support/chromium.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insertResult, insertRun } from '../support/records.ts';

// What the page shows of versions and of a running run, as the worker records them.

const REPOSITORY = "acme/it's-an-app";
const ADDRESS = "/app/repositories/acme/it's-an-app";
const HOSTILE = '<img src=x onerror="document.title=1">';
const SECOND_PAGE = 40;

/** The refs of the newest version: more than fit one response. */
const branches = Array.from(
  { length: 120 },
  (_, n) => `refs/heads/topic-${String(n).padStart(3, '0')}`,
);

describe.skipIf(!hasChromium)('versions on the page (skipped without Chromium)', () => {
  const site = usePage();
  let run: number;

  beforeAll(async () => {
    const { db } = site;
    run = await insertRun(db, { status: 'completed', total_repos: 2, successful: 2 });
    await insertResult(db, run, REPOSITORY, {
      incomplete: 'LFS: 12 pointers, 3.4 GB are not in the archive',
      tries: 3,
    });
    await insertResult(db, run, 'acme/plain');
    const id = (n: number) => n.toString(16).padStart(40, '0');
    for (let version = 1; version <= SECOND_PAGE; version++) {
      const refs = new Map<string, string | null>([['refs/heads/main', id(version)]]);
      if (version === 1) refs.set('refs/heads/gone', id(1));
      if (version === 2) refs.set('refs/heads/gone', null);
      if (version === SECOND_PAGE) {
        for (const name of branches) refs.set(name, id(7));
        refs.set('refs/tags/v1.0', id(8)).set(`refs/tags/${HOSTILE}`, id(9));
      }
      const isRecorded = await recordVersion(db, {
        repository: REPOSITORY,
        version,
        runId: run,
        at: new Date(Date.now() - (SECOND_PAGE - version) * 86_400_000).toISOString(),
        headBranch: HOSTILE,
        refCount: 1,
        refsSha256: '',
        manifestSha256: `manifest ${version}`,
        archiveKey: 'archive.bundle',
        files: 3,
        sizeBytes: 5 * 2 ** 20,
        anomalies: [],
        newBytes: 7 * 2 ** 10,
        warning:
          version === SECOND_PAGE - 1
            ? `History was rewritten: 996 commits became 3. ${HOSTILE}`
            : null,
        changes: { since: version === 1 ? null : `manifest ${version - 1}`, refs },
      });
      expect(isRecorded).toBe(true);
    }
    await markPruned(db, REPOSITORY, [SECOND_PAGE - 2]);
  });

  const version = (number: number) =>
    site.page.getByRole('button', { name: new RegExp(`^Version ${number}\\b`) });
  const row = (name: string) => site.page.getByRole('row', { name });

  it('are listed newest first, with their new bytes and warnings', async () => {
    const { open, page } = site;
    await open(ADDRESS);
    await version(SECOND_PAGE).waitFor();
    const names = await page.getByText(/^Version \d+$/).allTextContents();
    const expected = [40, 39, ...Array.from({ length: 8 }, (_, n) => 37 - n)];
    expect(names).toEqual(expected.map((number) => `Version ${number}`));
    expect(await version(SECOND_PAGE).textContent()).toContain('7.0 KiB new');
    expect(await version(SECOND_PAGE - 1).textContent()).toContain('Warning');
    expect(await version(SECOND_PAGE).textContent()).not.toContain('Warning');
    await page.getByRole('button', { name: 'next page' }).first().click();
    await version(24).waitFor();
    await version(SECOND_PAGE).waitFor({ state: 'detached' });
  });

  it('show the exact command that restores one', async () => {
    const { open, page } = site;
    await open(ADDRESS);
    await version(SECOND_PAGE - 1).click();
    await page.getByText('History was rewritten').first().waitFor();
    const command = await page.locator('pre', { hasText: 'restore' }).textContent();
    expect(command).toBe(
      `npm run worker -- restore 'acme/it'\\''s-an-app' --version 39 --to './it'\\''s-an-app-version-39'`,
    );
  });

  it('show their refs a page at a time, filtered by kind and by name', async () => {
    const { open, page } = site;
    await open(ADDRESS);
    // What loads above the versions moves them, and a click that is under way misses.
    await page.waitForLoadState('networkidle');
    await version(SECOND_PAGE).click();
    await row('refs/heads/topic-048').waitFor();
    expect(await row('refs/heads/topic-060').count()).toBe(0);
    await page.getByRole('button', { name: 'Load more' }).click();
    await row('refs/heads/topic-060').waitFor();
    await page.getByText('Tags', { exact: true }).click();
    await row('refs/tags/v1.0').waitFor();
    await row('refs/heads/main').waitFor({ state: 'detached' });
    await page.getByLabel('Name contains').fill('ONERROR');
    await row('refs/tags/v1.0').waitFor({ state: 'detached' });
    await page.getByRole('row').filter({ hasText: HOSTILE }).waitFor();
    await page.getByLabel('Name contains').fill('nothing');
    await page.getByText('No ref of this version matches').waitFor();
  });

  it('show the refs of an earlier one by keyboard', async () => {
    const { open, page } = site;
    await open(ADDRESS);
    await page.getByRole('button', { name: '4', exact: true }).click();
    await version(1).focus();
    await page.keyboard.press('Enter');
    await row('refs/heads/gone').waitFor();
    await page.getByRole('link', { name: `run #${run}` }).waitFor();
    await version(2).click();
    await row('refs/heads/gone').waitFor({ state: 'detached' });
    expect(await row('refs/heads/main').textContent()).toContain('0000000000');
  });

  it('are hidden once they are pruned, unless asked for', async () => {
    const { open, page } = site;
    await open(ADDRESS);
    await version(SECOND_PAGE).waitFor();
    expect(await version(SECOND_PAGE - 2).count()).toBe(0);
    await page.getByLabel('Include pruned versions').click();
    await version(SECOND_PAGE - 2).click();
    await page.getByText('it can no longer be restored').waitFor();
    expect(await page.locator('pre', { hasText: 'restore' }).count()).toBe(0);
  });

  it('are explained for a repository that has none', async () => {
    const { open, page } = site;
    await open('/app/repositories/acme/plain');
    await page.getByText('No versions yet').waitFor();
  });

  it('are accompanied by what the archive lacks, and by how many tries it took', async () => {
    const { open, page } = site;
    await open(`${ADDRESS}?tab=history`);
    await page.getByText('Incomplete: LFS: 12 pointers').waitFor();
    await page.getByText('3 tries').waitFor();
    await open(`/app/runs/${run}`);
    await page.getByText('Incomplete: LFS: 12 pointers').waitFor();
  });

  it('are created by a run whose progress is shown on its page and on the overview', async () => {
    const { open, page } = site;
    const at = new Date().toISOString();
    const active = [
      {
        repository: `acme/${HOSTILE}`,
        phase: 'Receiving objects',
        percent: 42,
        bytes: 3 * 2 ** 30,
      },
      { repository: 'acme/other', phase: 'Checking', percent: null, bytes: null },
    ];
    const running = await insertRun(site.db, {
      status: 'running',
      started_at: at,
      heartbeat_at: at,
      total_repos: 9,
      progress: JSON.stringify({ bytes: 4 * 2 ** 30, active }),
    });
    for (const path of ['/app/', `/app/runs/${running}`]) {
      await open(path);
      await page.getByText('4.0 GiB received').waitFor();
      await page.getByText(`acme/${HOSTILE}`).waitFor();
      await page.getByText('Receiving objects, 42%, 3.0 GiB').waitFor();
      await page.getByText('Checking', { exact: true }).waitFor();
      expect(await findViolations(page)).toEqual([]);
    }
  });

  it('pass the axe checks', async () => {
    const { complaints, open, page } = site;
    await open(ADDRESS);
    await page.getByLabel('Include pruned versions').click();
    await version(SECOND_PAGE - 2).click();
    await page.getByText('it can no longer be restored').waitFor();
    expect(await findViolations(page)).toEqual([]);
    await version(SECOND_PAGE - 1).click();
    await row('refs/heads/main').waitFor();
    expect(await findViolations(page)).toEqual([]);
    expect(await page.title()).not.toBe('1');
    // The missing archive gets a 404, which the browser reports.
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
  });

  it('fit the width of a phone', async () => {
    const { open, page } = site;
    await page.setViewportSize({ width: 390, height: 800 });
    await open(ADDRESS);
    await version(SECOND_PAGE).click();
    await row('refs/heads/topic-048').waitFor();
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(390);
  });
});
