import { execFile } from 'node:child_process';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { createChain } from '../support/chains.ts';
import { hasChromium } from '../support/chromium.ts';
import { useSharedFolder } from '../support/folders.ts';
import { createRepository, listRefs, type TestRepository } from '../support/git.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insertResult, insertRun, sql } from '../support/records.ts';
import { callWorker } from '../support/worker.ts';

const execute = promisify(execFile);

// A repository that the worker has really backed up, restored as the page says.

const HOSTILE = '<script>document.title="taken"</script>';

/** The tabs of a repository's page, each with a heading in it. */
const tabs = [
  ['versions', 'Versions'],
  ['restore', /Choose a version|There is nothing to restore from yet/],
  ['drills', 'Restore drills'],
  ['copies', 'Off-site'],
  ['history', 'History'],
  ['badges', 'Badges'],
] as const;

describe.skipIf(!hasChromium)('the pages of repositories (skipped without Chromium)', () => {
  const site = usePage();
  const folder = useSharedFolder();
  let repository: TestRepository;

  const backUp = (...sources: string[]) =>
    callWorker({
      databaseUrl: site.world.database.url,
      archives: site.world.archives,
      args: ['run', ...sources.flatMap((source) => ['--source', source])],
    });

  beforeAll(async () => {
    repository = await createRepository(join(folder, 'widgets'));
    await repository.commit({ 'README.md': HOSTILE, 'src/main.ts': 'export const one = 1;\n' });
    await repository.git('branch', 'other');
    expect((await backUp(repository.path)).code).toBe(0);
    await repository.commit({ 'logo.bin': '\0\u0001', [`x/${HOSTILE.slice(8, 20)}`]: 'text' });
    expect((await backUp(repository.path)).code).toBe(0);
    // Its refs were read, and it was never archived.
    await sql(site.db, 'UPDATE backup_runs SET total_repos = 2, failed = 1 WHERE id = 2');
    await insertResult(site.db, 2, 'local/lost', {
      status: 'failed',
      error_message: `there is no folder ${join(folder, 'lost')}`,
    });
  });

  /** The figure with the size of the archive. */
  const archiveFigure = () =>
    site.page
      .locator('main p', { hasText: /^Archive$/ })
      .locator('..')
      .textContent();
  const heading = (name: string) => site.page.getByRole('heading', { name, level: 1 });

  it('list those that are not good first, and find others by name', async () => {
    const { open, page } = site;
    await open('/app/repositories');
    const names = page.locator('tbody tr td:first-child a');
    await page.getByRole('link', { name: 'local/widgets' }).waitFor();
    expect(await names.allTextContents()).toEqual(['local/lost', 'local/widgets']);
    const sizes = await page.locator('tbody tr td:last-child').allTextContents();
    expect(sizes).toEqual(['none', expect.stringMatching(/^\d.* (bytes|KiB)$/)]);
    await page.getByLabel('Name contains').fill('WIDG');
    await page.getByRole('link', { name: 'local/lost' }).waitFor({ state: 'detached' });
    expect(new URL(page.url()).search).toBe('?text=WIDG');
    await page.getByRole('link', { name: 'local/widgets' }).click();
    await heading('local/widgets').waitFor();
  });

  it('show what is wrong with one', async () => {
    const { open, page } = site;
    await open('/app/repositories/local/lost');
    await page.getByText('The last backup failed').waitFor();
    await page.getByRole('alert').getByText('there is no folder').waitFor();
    await page.getByText('No archive yet').waitFor();
    expect(await archiveFigure()).toBe('Archivenone');
    expect(await page.getByText('0 bytes').count()).toBe(0);
  });

  it('show where one is read, and its versions before all else, in tabs', async () => {
    const { open, page } = site;
    await open('/app/repositories');
    await page.getByText(repository.path).waitFor();
    await open('/app/repositories/local/widgets');
    await page.getByText(repository.path).waitFor();
    const version = page.getByRole('button', { name: /^Version 1/ });
    await version.waitFor();
    expect(await page.getByRole('heading', { level: 2 }).first().textContent()).toBe('Versions');
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByRole('heading', { name: 'Size over time' }).waitFor();
    expect(new URL(page.url()).search).toBe('?tab=history');
    await version.waitFor({ state: 'detached' });
  });

  it('prove that an archive is whole, and give the command that restores all of it', async () => {
    const { open, page } = site;
    await open('/app/repositories/local/widgets');
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText('it matches the recorded checksum').waitFor();
    const command =
      (await page.locator('pre', { hasText: '/local__widgets.bundle' }).textContent()) ?? '';
    await execute('sh', ['-c', command], { cwd: folder });
    expect(await listRefs(join(folder, 'widgets.git'))).toEqual(await listRefs(repository.path));
  });

  it('restore and download every file of an archive that has several', async () => {
    const { open, page } = site;
    const { db } = site;
    const chain = createChain(site.world.archives, 'owner__chain.bundle', repository);
    await chain.version();
    await repository.commit({ 'chain.txt': 'more' });
    await chain.version();
    const run = await insertRun(db, { status: 'completed', total_repos: 1, successful: 1 });
    await insertResult(db, run, 'owner/chain', { status: 'completed' });
    await open('/app/repositories/owner/chain');
    await page.getByText('and 1 file that continue').waitFor();
    // The folder of the archives is known a little later.
    const shown = page.locator('pre', { hasText: '/owner__chain.bundle' });
    const command = (await shown.textContent()) ?? '';
    const cwd = join(folder, 'restored-chain');
    await mkdir(cwd);
    await execute('sh', ['-ec', command], { cwd });
    expect(await listRefs(join(cwd, 'chain.git'))).toEqual(await listRefs(repository.path));
    await page.getByRole('button', { name: 'Download' }).click();
    const downloading = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: 'owner__chain.1.bundle' }).click();
    const increment = await readFile(join(site.world.archives, 'owner__chain.1.bundle'));
    expect((await readFile(await (await downloading).path())).equals(increment)).toBe(true);
  });

  it('report that an archive was moved or deleted', async () => {
    const { open, page } = site;
    const { db } = site;
    const run = await insertRun(db, { status: 'completed', total_repos: 1, successful: 1 });
    await insertResult(db, run, 'owner/gone', { status: 'completed' });
    await open('/app/repositories/owner/gone');
    await page.getByText('it was moved or deleted').waitFor();
    expect(await archiveFigure()).toBe('Archivenone');
  });

  it('offer no command that cannot restore a version', async () => {
    const { db, open, page } = site;
    const run = await insertRun(db, { status: 'completed', total_repos: 1, successful: 1 });
    const name = 'owner/vanished';
    await insertResult(db, run, name, { status: 'completed' });
    await sql(
      db,
      `INSERT INTO archive_versions (repo_full_name, version, run_id, created_at, ref_count, files, size_bytes)
        VALUES ('${name}', 1, ${run}, now(), 1, 1, 1)`,
    );
    await sql(
      db,
      `INSERT INTO worker_repo_state (repo_full_name, archive_key, archive_missing_since, archive_missing)
        VALUES ('${name}', 'owner__vanished.bundle', now(), 'owner__vanished.bundle is missing')`,
    );
    await open(`/app/repositories/${name}`);
    await page.getByRole('button', { name: /^Version 1/ }).click();
    await page.getByText('It cannot be restored.').waitFor();
    expect(await page.getByText('npm run worker -- restore').count()).toBe(0);
    await sql(
      db,
      `INSERT INTO archive_stores (repo_full_name, store, version, stored_at) VALUES ('${name}', 's3://one', 1, now())`,
    );
    await open(`/app/repositories/${name}`);
    await page.getByRole('button', { name: /^Version 1/ }).click();
    await page.getByText(`restore --from STORE ${name} --version 1`).waitFor();
    expect(await findViolations(page)).toEqual([]);
    // A later run would report the loss.
    await sql(db, `DELETE FROM worker_repo_state WHERE repo_full_name = '${name}'`);
  });

  it('forget one that was removed on purpose, and track it again', async () => {
    const { db, open, page } = site;
    const run = await insertRun(db, { status: 'completed', total_repos: 1, successful: 1 });
    await insertResult(db, run, 'owner/given-up', { created_at: '2026-01-01T00:00:00Z' });
    await insertResult(db, run, 'owner/given-up', { status: 'failed', fault: 'missing' });
    await open('/app/repositories/owner/given-up');
    await page.getByRole('button', { name: 'Forget this repository' }).click();
    await page.getByRole('dialog').getByText('Nothing is kept').waitFor();
    await page.getByLabel('I know that nothing of it can be restored').check();
    await page.getByRole('button', { name: 'Forget', exact: true }).click();
    await page.getByRole('alert').getByText('Alerts and counts leave it out').waitFor();
    expect(await findViolations(page)).toEqual([]);
    await open('/app/repositories');
    await heading('Repositories').waitFor();
    await page.getByRole('link', { name: 'local/widgets' }).waitFor();
    expect(await page.getByRole('link', { name: 'owner/given-up' }).count()).toBe(0);
    await page.getByRole('combobox', { name: 'State' }).click();
    await page.getByRole('option', { name: 'Forgotten' }).click();
    await page.getByRole('link', { name: 'owner/given-up' }).click();
    await page.getByRole('button', { name: 'Track it again' }).click();
    await page.getByRole('button', { name: 'Forget this repository' }).waitFor();
    await open('/app/repositories?state=lost');
    await page.getByRole('link', { name: 'owner/given-up' }).waitFor();
    expect(await page.getByRole('link', { name: 'local/widgets' }).count()).toBe(0);
  });

  it('forget several at once by keyboard, after what is kept of each was shown and typed', async () => {
    const { db, open, page } = site;
    const run = await insertRun(db, { status: 'completed', total_repos: 2, successful: 1 });
    const old = { created_at: '2026-01-01T00:00:00Z' };
    await insertResult(db, run, 'retired/kept', old);
    await insertResult(db, run, 'retired/never', { status: 'failed', ...old });
    await insertResult(db, run, `retired/${HOSTILE.slice(0, 8)}`, { status: 'failed', ...old });
    await open('/app/repositories?text=retired');
    const select = page.getByRole('button', { name: 'Select all shown' });
    await select.focus();
    await page.keyboard.press('Enter');
    await page.getByText('3 selected').waitFor();
    const hostile = page.getByLabel(`Select retired/${HOSTILE.slice(0, 8)}`);
    await hostile.focus();
    await page.keyboard.press('Space');
    await page.getByText('2 selected').waitFor();
    await page.getByRole('button', { name: 'Forget the selected' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Nothing is kept of 1 repository').waitFor();
    await dialog.getByText('Something is kept of 1 repository').waitFor();
    await dialog.getByText('It was never backed up: nothing is kept.').waitFor();
    expect(await findViolations(page)).toEqual([]);
    const forget = dialog.getByRole('button', { name: 'Forget', exact: true });
    const typing = dialog.getByLabel('to confirm');
    await typing.fill('forget 2');
    expect(await forget.isDisabled()).toBe(true);
    await dialog.getByLabel('I know that nothing of it can be restored').focus();
    await page.keyboard.press('Space');
    await typing.fill('forget 3');
    expect(await forget.isDisabled()).toBe(true);
    // Gone from the records meanwhile: the others are forgotten, and it is named.
    await sql(db, "DELETE FROM backup_results WHERE repo_full_name = 'retired/kept'");
    await sql(db, "DELETE FROM newest_results WHERE repo_full_name = 'retired/kept'");
    await typing.fill('forget 2');
    await page.keyboard.press('Enter');
    await dialog.getByText('1 repository not forgotten').waitFor();
    await dialog.getByText('retired/kept').waitFor();
    await dialog.getByText('No such repository.').waitFor();
    await dialog.getByRole('button', { name: 'Close', exact: true }).last().click();
    await page.getByRole('link', { name: 'retired/never' }).waitFor({ state: 'detached' });
    await page.getByText('1 selected').waitFor();
    await hostile.waitFor();
  });

  it('show the files of an archive as text, and download them unchanged', async () => {
    const { complaints, open, page } = site;
    await open('/app/repositories/local/widgets');
    await page.getByRole('button', { name: 'Show files' }).click();
    await page.getByRole('button', { name: 'README.md' }).click();
    await page.getByRole('dialog').getByText(HOSTILE).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('dialog').getByRole('link', { name: 'Download' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('README.md');
    expect(await readFile(await download.path(), 'utf8')).toBe(HOSTILE);
    await page.keyboard.press('Escape');
    await page.getByLabel('Path starts with').fill('logo');
    await page.getByRole('button', { name: 'README.md' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'logo.bin' }).click();
    await page.getByText('This is not a text file').waitFor();
    expect(await page.title()).not.toBe('taken');
    expect(complaints).toEqual([]);
  });

  it('download the archive itself', async () => {
    const { open, page } = site;
    await open('/app/repositories/local/widgets');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download' }).click(),
    ]);
    const archive = await readFile(join(site.world.archives, 'local__widgets.bundle'));
    expect(await readFile(await download.path())).toEqual(archive);
  });

  it('request a backup, withdraw the request, and show it until a run has done it', async () => {
    const { open, page } = site;
    await open('/app/repositories/local/widgets');
    await page.getByRole('button', { name: 'Back up now' }).click();
    await page.getByText('the worker will pick it up in its next run').waitFor();
    const wait =
      /next run, expected|No schedule is known yet; start a run with npm run worker -- run/;
    await page.getByRole('status').filter({ hasText: wait }).waitFor();
    await page.getByRole('button', { name: 'Withdraw request' }).click();
    await page.getByRole('button', { name: 'Back up now' }).click();
    await page.getByRole('button', { name: 'Withdraw request' }).waitFor();
    const commit = await repository.commit({ 'CHANGES.md': 'more\n' });
    expect((await backUp(repository.path)).code).toBe(0);
    await page.reload();
    await page.getByRole('button', { name: 'Back up now' }).waitFor();
    await page.getByText(commit.slice(0, 10)).first().waitFor();
  });

  it('lead to the run of a failure, where its fix is recorded', async () => {
    const { open, page } = site;
    await open('/app/repositories/local/lost?tab=history');
    await page.getByRole('link', { name: '#2' }).click();
    await heading('Run #2').waitFor();
    await page.getByRole('heading', { name: 'What to do' }).waitFor();
    await page.getByRole('button', { name: 'Record a fix' }).click();
    await page.getByLabel('What was fixed, in one line').fill('Put the folder back');
    await page.getByLabel('The cause, and how it was fixed').fill(`It was moved. ${HOSTILE}`);
    await page.getByRole('button', { name: 'Record', exact: true }).click();
    await page.getByText('Put the folder back').waitFor();
    await page.getByRole('alert').getByText(HOSTILE).waitFor();
  });

  it('lead to the run of a failure, where the command that may fix it is shown as code', async () => {
    const { db, open, page } = site;
    const run = await insertRun(db, { status: 'failed', total_repos: 1, failed: 1 });
    const error_message = 'fatal: Authentication failed';
    await insertResult(db, run, 'owner/refused', { status: 'failed', error_message });
    await open(`/app/runs/${run}`);
    await page.getByText('npm run worker -- auth status --check', { exact: true }).waitFor();
  });

  it('pass the axe checks', async () => {
    const { complaints, open, page } = site;
    for (const name of ['lost', 'widgets']) {
      for (const [tab, title] of tabs) {
        await open(`/app/repositories/local/${name}?tab=${tab}`);
        await page.getByRole('heading', { name: title }).first().waitFor();
        expect(await findViolations(page)).toEqual([]);
      }
    }
    await open('/app/repositories/local/widgets');
    await page.getByRole('button', { name: 'Verify' }).click();
    await page.getByText('it matches the recorded checksum').waitFor();
    await page.getByRole('button', { name: 'Show files' }).click();
    await page.getByRole('button', { name: 'README.md' }).click();
    await page.getByRole('dialog').getByText(HOSTILE).waitFor();
    expect(await findViolations(page)).toEqual([]);
    // The missing archive of the lost repository gets a 404, which the browser reports.
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
  });

  it('fit the width of a phone', async () => {
    const { open, page } = site;
    await page.setViewportSize({ width: 390, height: 800 });
    const ofTabs = tabs.map(([tab]) => `/local/widgets?tab=${tab}`);
    for (const path of ['', ...ofTabs, '/local/lost']) {
      await open(`/app/repositories${path}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect(width).toBeLessThanOrEqual(390);
    }
  });
});
