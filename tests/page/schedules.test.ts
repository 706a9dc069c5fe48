import { beforeEach, describe, expect, it } from 'vitest';
import { hasChromium } from '../support/chromium.ts';
import { findViolations, usePage, withPage } from '../support/page.ts';
import { sql } from '../support/records.ts';

describe.skipIf(!hasChromium)('the schedule on the page (skipped without Chromium)', () => {
  const site = usePage({ environment: () => ({ BACKUP_TIME_ZONE: 'Europe/Berlin' }) });
  const button = (name: string) => site.page.getByRole('button', { name, exact: true });

  beforeEach(async () => {
    await sql(site.db, 'TRUNCATE schedules');
    await site.open('/app/settings?tab=schedule');
  });

  it('says what there is when nothing is scheduled, and where runs start instead', async () => {
    await site.page.getByText('No run starts by itself').waitFor();
    await site.page.getByText('This server starts no runs itself').waitFor();
    await site.page.getByText('npm run worker -- run --every 60').waitFor();
    expect(await findViolations(site.page)).toEqual([]);
    await site.page.setViewportSize({ width: 390, height: 800 });
    expect(await site.page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  });

  it('adds a schedule with its next times shown while it is typed, pauses and removes it', async () => {
    await button('Add a schedule').click();
    const when = site.page.getByLabel('When');
    await when.fill('daily at 25:00');
    await site.page.getByText(/must be an interval such as 6h/).waitFor();
    await when.fill('weekdays at 22:00');
    const next = site.page.getByRole('status', { name: 'Next times' });
    await next
      .getByText(/10:00 PM|22:00/)
      .first()
      .waitFor();
    expect(await findViolations(site.page)).toEqual([]);
    await button('Add').click();
    await site.page.getByText('Europe/Berlin, all sources').waitFor();
    await button('Pause weekdays at 22:00').click();
    await site.page.getByText('paused').waitFor();
    await button('Resume weekdays at 22:00').click();
    await site.page.getByText(/^Next: /).waitFor();
    await button('Change weekdays at 22:00').click();
    await when.fill('0 3 * * *');
    await button('Change').last().click();
    await site.page.getByText('0 3 * * *', { exact: true }).waitFor();
    await button('Remove 0 3 * * *').click();
    await button('Remove').last().click();
    await site.page.getByText('No run starts by itself').waitFor();
    expect(site.complaints.filter((text) => !text.includes('400'))).toEqual([]);
  });

  it('is for all sources, or for those that are chosen by name', async () => {
    await sql(site.db, 'DELETE FROM sources');
    await sql(
      site.db,
      `INSERT INTO sources (kind, key, address, created_by)
       VALUES ('address', 'a', 'https://git.example/team/app.git', 'ada')`,
    );
    await site.page.reload();
    await button('Add a schedule').click();
    await site.page
      .getByRole('combobox', { name: 'Sources' })
      .or(site.page.getByLabel('Sources'))
      .first()
      .click();
    await site.page.getByRole('option', { name: 'https://git.example/team/app.git' }).click();
    await site.page.keyboard.press('Escape');
    expect(await findViolations(site.page)).toEqual([]);
    await button('Add').click();
    await site.page.getByText(/, https:\/\/git\.example\/team\/app\.git$/).waitFor();
    expect(
      await sql(site.db, 'SELECT jsonb_array_length(sources) AS chosen FROM schedules'),
    ).toEqual([{ chosen: 1 }]);
  });

  it('shows what BACKUP_EVERY sets, without anything to change it', async () => {
    await withPage({ BACKUP_EVERY: '12h' }, async ({ open, page }, { database }) => {
      await sql(
        database.db,
        "INSERT INTO schedules (timing, time_zone, interval_ms, variable_of) VALUES ('12h', 'UTC', 43200000, 'm')",
      );
      await open('/app/settings?tab=schedule');
      await page.getByText('Set by BACKUP_EVERY', { exact: true }).waitFor();
      await page.getByText('UTC, all sources, set by BACKUP_EVERY').waitFor();
      expect(await page.getByRole('button', { name: 'Add a schedule' }).count()).toBe(0);
    });
  });
});
