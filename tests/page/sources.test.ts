import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasChromium } from '../support/chromium.ts';
import { useSharedFolder } from '../support/folders.ts';
import { createRepository } from '../support/git.ts';
import { findViolations, usePage } from '../support/page.ts';
import { sql } from '../support/records.ts';

const folder = useSharedFolder();

describe.skipIf(!hasChromium)('the sources on the page (skipped without Chromium)', () => {
  const git = join(folder, 'git');
  const site = usePage({ environment: () => ({ BACKUP_SOURCES: '/srv/configured' }) });
  beforeAll(async () => {
    for (const name of ['one', 'two']) {
      const made = await createRepository(join(git, name));
      await made.commit({ 'a.txt': name });
    }
  });
  beforeEach(() => sql(site.db, 'DELETE FROM sources'));

  const button = (name: string) => site.page.getByRole('button', { name, exact: true });
  const addresses = async () =>
    (await sql<{ address: string }>(site.db, 'SELECT address FROM sources ORDER BY id')).map(
      ({ address }) => address,
    );
  async function tryAddress(address: string) {
    await site.open('/app/settings?tab=sources');
    await button('Add a source').click();
    await site.page.getByRole('textbox', { name: 'Address or folder' }).fill(address);
    await button('Try').click();
  }

  it('are tried, added, paused and removed', async () => {
    const { complaints, page } = site;
    await tryAddress(git);
    await page.getByText('The folder holds 2 repositories.').waitFor();
    await button('Add').click();
    await button(`Pause ${git}`).click();
    await button(`Resume ${git}`).waitFor();
    await button(`Remove ${git}`).click();
    expect(await button('Remove').isDisabled()).toBe(true);
    await page.getByRole('textbox', { name: 'Type' }).fill(git);
    await button('Remove').click();
    await button(`Remove ${git}`).waitFor({ state: 'detached' });
    expect(await addresses()).toEqual([]);
    expect(complaints).toEqual([]);
  });

  it('are chosen among the repositories of a folder', async () => {
    const { page } = site;
    await tryAddress(git);
    await page.getByRole('checkbox', { name: 'All of them, also those that come later' }).uncheck();
    await page.getByRole('checkbox', { name: 'local/two' }).check();
    await button('Add').click();
    await button(`Pause ${join(git, 'two')}`).waitFor();
    expect(await addresses()).toEqual([join(git, 'two')]);
  });

  it('are refused at their field with the reason', async () => {
    await tryAddress(join(git, 'typo'));
    await site.page.getByText('there is no folder').waitFor();
    expect(await addresses()).toEqual([]);
  });

  it('cannot be changed if a variable sets them', async () => {
    await site.open('/app/settings?tab=sources');
    await site.page.getByText('set by BACKUP_SOURCES').waitFor();
    expect(await button('Remove /srv/configured').count()).toBe(0);
  });

  it('pass the axe checks, and fit the width of a phone', async () => {
    const { page } = site;
    await page.setViewportSize({ width: 390, height: 800 });
    await tryAddress(git);
    await page.getByText('The folder holds 2 repositories.').waitFor();
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(390);
    expect(await findViolations(page)).toEqual([]);
  });
});
