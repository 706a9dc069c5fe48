import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashPassword } from '../../lib/security/password.ts';
import { addUser } from '../../lib/users/users.ts';
import { hasChromium } from '../support/chromium.ts';
import { temporaryFolder } from '../support/folders.ts';
import { createRepository } from '../support/git.ts';
import { findViolations, usePage } from '../support/page.ts';
import { QUICK_COST } from '../support/passwords.ts';
import { sql } from '../support/records.ts';

// A new installation, from its first page to its first backup, with a real worker.

const folder = await temporaryFolder();

describe.skipIf(!hasChromium)('the guide (skipped without Chromium)', () => {
  const site = usePage({
    startsRuns: true,
    environment: () => ({ DATA_DIR: join(folder.path, 'data') }),
  });

  beforeAll(async () => {
    const repository = await createRepository(join(folder.path, 'git', 'notes'));
    await repository.commit({ 'a.txt': 'a' });
  });
  afterAll(() => folder.remove());

  it('leads an administrator to the first backup in five clicks', async () => {
    const { open, page, db } = site;
    await sql(db, 'TRUNCATE backup_runs, backup_results, sources, schedules CASCADE');
    await open('/app/');
    const guide = page.getByRole('region', { name: 'Set up your backups' });
    await guide.waitFor();
    expect(await findViolations(page)).toEqual([]);

    await guide.getByRole('button', { name: 'Add a source' }).click();
    const address = page.getByLabel('Address or folder');
    await address.fill(join(folder.path, 'nothing-here'));
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').locator('[id$=error]').waitFor();
    expect(await sql(db, 'SELECT 1 FROM sources')).toEqual([]);
    await address.fill(join(folder.path, 'git'));
    await page.getByRole('button', { name: 'Try' }).click();
    await page.getByText('The folder holds 1 repository.').waitFor();
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await guide
      .getByRole('list', { name: 'Sources' })
      .getByText(join(folder.path, 'git'))
      .waitFor();

    await guide.getByRole('button', { name: 'Daily at 02:30' }).click();
    await guide.getByText('daily at 02:30').waitFor();
    await guide.getByRole('button', { name: 'Back up all now' }).click();
    await page.getByText('The repository is backed up.').waitFor({ timeout: 240_000 });
    expect(await guide.count()).toBe(0);
    expect(await sql(db, 'SELECT repo_full_name FROM worker_repo_state')).toEqual([
      { repo_full_name: 'local/notes' },
    ]);
  });

  it('is only for administrators: others read how backups begin', async () => {
    const { db, open, page, context, world } = site;
    await sql(db, 'TRUNCATE backup_runs, backup_results CASCADE');
    await addUser(db, 'grace', await hashPassword('the password of grace', QUICK_COST));
    await context.clearCookies();
    const data = { username: 'grace', password: 'the password of grace' };
    await context.request.post(`${world.server.url}/auth/session`, { data });
    await open('/app/');
    await page.getByText('No backups yet').waitFor();
    expect(await page.getByRole('region', { name: 'Set up your backups' }).count()).toBe(0);
  });
});
