import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasChromium } from '../support/chromium.ts';
import { useSharedFolder } from '../support/folders.ts';
import { createRepository } from '../support/git.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insertResult, insertRun } from '../support/records.ts';
import { callWorker } from '../support/worker.ts';

// Finding a version of a repository that the worker has really backed up, and restoring it, in the page.

const HOSTILE = '<img src=x onerror="document.title=1">';
const ADDRESS = '/app/repositories/local/widgets?tab=restore';

describe.skipIf(!hasChromium)('restoring in the page (skipped without Chromium)', () => {
  const folder = useSharedFolder();
  const site = usePage({ environment: () => ({ DATA_DIR: join(folder, 'data') }) });

  beforeAll(async () => {
    const repository = await createRepository(join(folder, 'widgets'));
    const backUp = async () => {
      const { code } = await callWorker({
        databaseUrl: site.world.database.url,
        archives: site.world.archives,
        args: ['run', '--source', repository.path],
      });
      expect(code).toBe(0);
    };
    await repository.commit({
      'README.md': 'one\n',
      'src/main.ts': 'one\n',
      'src/deep/x.txt': 'x',
    });
    await backUp();
    await repository.commit({ 'README.md': `two ${HOSTILE}\n`, 'src/new.ts': 'new\n' }, HOSTILE);
    await repository.git('tag', 'v1');
    await backUp();
    const run = await insertRun(site.db);
    await insertResult(site.db, run, 'local/nothing', { status: 'failed' });
  }, 120_000);

  /** A failed test is repeated, and nothing is restored over what it has left. */
  let attempts = 0;
  const version = (n: number) =>
    site.page.getByRole('button', { name: `Version ${n}`, exact: true });
  const row = (text: string) => site.page.getByRole('row').filter({ hasText: text });

  it('lists the versions with their dates and what changed in each', async () => {
    const { open, page } = site;
    await open(ADDRESS);
    await row('Version 2')
      .filter({ hasText: '1 commit, 1 branch or tag added, 1 moved, 2 files' })
      .waitFor();
    await row('Version 1')
      .filter({ hasText: '1 commit, 1 branch or tag added, 3 files' })
      .waitFor();
    await page.getByLabel('Made at or before').fill('2001-01-01T00:00');
    await page.getByText('No version that can be restored is that old').waitFor();
  });

  it('compares a version with the one before it, and shows the lines of a file', async () => {
    const { open, page } = site;
    await open(ADDRESS);
    await version(2).click();
    expect(new URL(page.url()).search).toContain('version=2');
    await page.getByRole('table', { name: 'New commits' }).getByText(HOSTILE).waitFor();
    const changed = page.getByRole('table', { name: 'Files', exact: true });
    await changed.getByText('src/new.ts').waitFor();
    await changed.getByRole('button', { name: 'README.md' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(`+two ${HOSTILE}`).waitFor();
    await dialog.getByText('-one').waitFor();
    expect(await findViolations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await page.getByLabel('Compared with').selectOption({
      label: (await page.getByLabel('Compared with').locator('option').last().textContent()) ?? '',
    });
    await page.getByRole('table', { name: 'New commits' }).waitFor();
    expect(await page.title()).not.toBe('1');
  });

  it('opens the folders of a version, and downloads files and folders', async () => {
    const { open, page } = site;
    await open(`${ADDRESS}&version=1`);
    const files = page.getByRole('table', { name: 'Files of version 1' });
    await files.getByRole('button', { name: 'src/' }).click();
    await files.getByRole('button', { name: 'main.ts' }).waitFor();
    await page.getByRole('navigation', { name: 'Folder' }).getByText('src').waitFor();
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download this folder as zip' }).click();
    const zip = await downloading;
    expect(zip.suggestedFilename()).toBe('widgets-version-1-src.zip');
    expect(await zip.failure()).toBeNull();
    await page
      .getByRole('navigation', { name: 'Folder' })
      .getByRole('button', { name: 'widgets' })
      .click();
    await files.getByRole('button', { name: 'README.md' }).click();
    await page.getByRole('dialog').getByText('one', { exact: true }).waitFor();
  });

  it('restores a version to a folder, and says where it is', async () => {
    const { open, page } = site;
    await open(`${ADDRESS}&version=1`);
    const name = `page-${++attempts}`;
    await page.getByLabel('Name of the folder').fill('../up');
    await page.getByRole('button', { name: 'Restore', exact: true }).click();
    // At its field.
    await page.getByText('folder must begin with a letter or digit').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    await page.getByLabel('Name of the folder').fill(name);
    await page.getByRole('button', { name: 'Restore', exact: true }).click();
    const list = page.getByRole('region', { name: 'Restores' });
    await list.getByText(join(folder, 'data', 'restored', name)).waitFor();
    await list.getByText('Restored and proved').first().waitFor({ timeout: 120_000 });
    await list.getByText('asked for by ada').first().waitFor();
    const target = join(folder, 'data', 'restored', name);
    expect(await readFile(join(target, 'README.md'), 'utf8')).toBe('one\n');
    await page.getByLabel('An empty repository on a git host').click();
    await page.getByLabel('Address of the repository').fill('https://me:secret@host/a/b.git');
    await page.getByRole('button', { name: 'Restore', exact: true }).click();
    await page.getByText('push contains credentials').waitFor();
    expect(await findViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    await open(`${ADDRESS}&version=1`);
    await list.getByText('Restored and proved').first().waitFor();
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(390);
  });

  it('says so where there is nothing to restore from', async () => {
    const { open, page } = site;
    await open('/app/repositories/local/nothing?tab=restore');
    await page.getByText('There is nothing to restore from yet').waitFor();
    expect(await findViolations(page)).toEqual([]);
  });

  it('passes the axe checks, and fits the width of a phone', async () => {
    const { complaints, open, page } = site;
    await open(`${ADDRESS}&version=2`);
    await page.getByRole('table', { name: 'Files of version 2' }).waitFor();
    await page.getByRole('table', { name: 'Files', exact: true }).waitFor();
    expect(await findViolations(page)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    await open(`${ADDRESS}&version=2`);
    await page.getByRole('table', { name: 'Files', exact: true }).waitFor();
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(390);
    expect(complaints).toEqual([]);
  });
});
