import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hashPassword } from '../../lib/security/password.ts';
import { addUser } from '../../lib/users/users.ts';
import { hasChromium } from '../support/chromium.ts';
import { findViolations, usePage } from '../support/page.ts';
import { QUICK_COST } from '../support/passwords.ts';
import { insert, insertResult, insertRun, sql, truncate } from '../support/records.ts';

const HOSTILE = '<img src=x onerror="document.title=1">';
const PASSWORD = 'the password of grace';

describe.skipIf(!hasChromium)('what is told, on the page (skipped without Chromium)', () => {
  const site = usePage({ startsLoggedOut: true });

  beforeAll(async () => {
    await insertResult(site.db, await insertRun(site.db), 'acme/app');
  });
  beforeEach(async () => {
    await truncate(
      site.db,
      'quiet_hours, mutes, maintenance_windows, digest, status_pages, incidents, users',
    );
  });

  const button = (name: string) => site.page.getByRole('button', { name, exact: true });
  /** The label of a required field ends in an asterisk. */
  const field = (name: string) => site.page.getByLabel(new RegExp(`^${name}( \\*)?$`));
  const dialog = () => site.page.getByRole('dialog');
  const openSettings = async () => {
    await site.logIn();
    await site.open('/app/settings?tab=alerts');
    await site.page.getByText('There are no quiet hours').waitFor();
  };
  const width = () => site.page.evaluate<number>('document.documentElement.scrollWidth');

  it('waits in quiet hours, which are set, changed and removed', async () => {
    const { page } = site;
    await openSettings();
    await button('Set quiet hours').click();
    await field('From').fill('21:00');
    await field('To').fill('21:00');
    await page.getByRole('combobox', { name: 'Time zone' }).fill('Tokyo');
    await page.getByRole('option', { name: 'Asia/Tokyo' }).click();
    await button('Save').click();
    // The error stands at its field.
    await dialog().getByText('Must differ from the beginning').waitFor();
    expect(await field('To').getAttribute('aria-invalid')).toBe('true');
    expect(await field('From').getAttribute('aria-invalid')).not.toBe('true');
    await field('To').fill('06:30');
    await page.getByLabel('Sunday').uncheck();
    await page.getByLabel('Saturday').uncheck();
    await page.getByLabel('Send messages about critical incidents nevertheless').check();
    await button('Save').click();
    await page.getByText('21:00 to 06:30').waitFor();
    await page.getByText('Monday to Friday, Asia/Tokyo.').waitFor();
    await page.getByText('critical incidents are sent nevertheless').waitFor();
    await button('Change the quiet hours').click();
    expect(await field('To').inputValue()).toBe('06:30');
    expect(await page.getByLabel('Sunday').isChecked()).toBe(false);
    await page.getByLabel('Sunday').check();
    await button('Save').click();
    await page.getByText('Friday, Sunday, Asia/Tokyo.').waitFor();
    await button('Remove the quiet hours').click();
    await dialog().getByRole('button', { name: 'Remove' }).click();
    await page.getByText('There are no quiet hours').waitFor();
  });

  it('is muted for an incident where that is shown, until somebody ends it', async () => {
    await insert(site.db, 'incidents', { rule: 'run_failed', summary: 'Run 1 failed' });
    const { logIn, open, page } = site;
    await logIn();
    await open('/app/incidents');
    const incident = page.getByRole('article');
    await incident.getByRole('button', { name: 'Mute until …' }).click();
    await field('Until').fill('2020-01-01T00:00');
    await button('Mute').click();
    await dialog().getByText('Must be in the future').waitFor();
    await field('For').selectOption('1 week');
    await button('Mute').click();
    await incident.getByText(/^Muted until .*, by ada\.$/).waitFor();
    const [mute] = await sql<{ scope: string; days: number }>(
      site.db,
      `SELECT scope, round(extract(epoch FROM until - created_at) / 86400)::int AS days FROM mutes`,
    );
    expect(mute).toEqual({ scope: 'incident', days: 7 });
    await incident.getByRole('button', { name: 'End the mute' }).click();
    await dialog().getByRole('button', { name: 'End the mute' }).click();
    await incident.getByRole('button', { name: 'Mute until …' }).waitFor();
  });

  it('is muted for a repository, or as a whole, and says so', async () => {
    const { open, page } = site;
    await openSettings();
    await button('Mute').click();
    await field('What').selectOption('A repository');
    await field('Repository').fill('acme/typo');
    await dialog().getByRole('button', { name: 'Mute' }).click();
    await dialog().getByText('No repository of that name is tracked').waitFor();
    await field('Repository').fill('ACME/app');
    await dialog().getByRole('button', { name: 'Mute' }).click();
    await button('End the mute of acme/app').waitFor();
    await button('Mute').click();
    await dialog().getByRole('button', { name: 'Mute' }).click();
    await button('End the mute of Everything').waitFor();
    await open('/app/incidents');
    await page.getByText('Everything is muted').waitFor();
    await button('End the mute').click();
    await dialog().getByRole('button', { name: 'End the mute' }).click();
    await page.getByText('Everything is muted').waitFor({ state: 'detached' });
  });

  it('waits for maintenance, whose note is shown', async () => {
    const { open, page } = site;
    await openSettings();
    await button('Plan maintenance').click();
    await field('What is done').fill(HOSTILE);
    await field('Repeats').selectOption('Daily');
    await field('Until').fill('2020-01-01T00:00');
    await button('Plan').click();
    await dialog().getByText('Must be after the beginning').waitFor();
    // Two hours, as it was.
    await button('Cancel').click();
    await button('Plan maintenance').click();
    await field('What is done').fill(HOSTILE);
    await field('Repeats').selectOption('Daily');
    await button('Plan').click();
    await page.getByText(/daily \(/).waitFor();
    await page.getByText('now', { exact: true }).waitFor();
    await open('/app/incidents');
    await page.getByText(/^Maintenance until /).waitFor();
    await page.getByText(HOSTILE).waitFor();
    expect(await page.title()).not.toBe('1');
    await open('/app/settings?tab=alerts');
    await button(`Remove the maintenance window: ${HOSTILE}`).click();
    await dialog().getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No maintenance is planned').waitFor();
  });

  it('is summed up in a digest, which is set, changed and removed', async () => {
    const { page } = site;
    await openSettings();
    await button('Set a digest').click();
    await field('How often').selectOption('Weekly');
    await field('Day').selectOption('Sunday');
    await field('At').fill('06:15');
    await field('Through').selectOption('No alert channel');
    await button('Save').click();
    await dialog().getByText('Must name a channel').waitFor();
    await page.getByLabel('Also mail it to the addresses in SMTP_TO').check();
    await button('Save').click();
    await page.getByText('Sundays at 06:15').waitFor();
    await page.getByText('to the addresses in SMTP_TO', { exact: false }).first().waitFor();
    await button('Change the digest').click();
    await field('Through').selectOption('Some alert channels');
    await field('Names of the channels').fill('phone, team');
    await button('Save').click();
    await page.getByText('phone, team, the addresses in SMTP_TO').waitFor();
    await button('Remove the digest').click();
    await dialog().getByRole('button', { name: 'Remove' }).click();
    await page.getByText('No digest is sent.').waitFor();
  });

  it('is published on a status page, which is revoked', async () => {
    const { page } = site;
    await openSettings();
    await button('Publish a status page').click();
    await field('Title').fill('Our backups');
    await field('What it shows').fill('acme/app\nWebsite:');
    await field('Address').fill('Up');
    await button('Publish').click();
    await dialog()
      .getByText(/^Row 2: /)
      .waitFor();
    await dialog()
      .getByText(/^Must have 3 to 63/)
      .waitFor();
    await field('What it shows').fill('acme/app\nWebsite: acme/web-*');
    await field('Address').fill('');
    await button('Publish').click();
    const shown = page.getByText(/\/status\/[0-9a-f]{32}$/);
    await shown.waitFor();
    const address = (await shown.textContent()) ?? '';
    await page.getByText('acme/app, Website').waitFor();
    const visitor = await site.context.newPage();
    await visitor.goto(address);
    await visitor.getByRole('heading', { name: 'Our backups' }).waitFor();
    await visitor.setViewportSize({ width: 390, height: 800 });
    expect(
      await visitor.evaluate<number>('document.documentElement.scrollWidth'),
    ).toBeLessThanOrEqual(390);
    await visitor.close();
    await button('Revoke the status page: Our backups').click();
    await dialog().getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Nothing is published.').waitFor();
    expect((await fetch(address)).status).toBe(404);
  });

  it('is changed by administrators only', async () => {
    await addUser(site.db, 'grace', await hashPassword(PASSWORD, QUICK_COST));
    await insert(site.db, 'incidents', { rule: 'run_failed', summary: 'Run 1 failed' });
    await sql(
      site.db,
      `INSERT INTO quiet_hours (from_time, to_time, time_zone, days, critical_passes, updated_by)
       VALUES ('22:00', '07:00', 'UTC', '{1}', false, 'ada')`,
    );
    const { open, page } = site;
    await open('/app/settings?tab=alerts');
    await page.getByLabel('User name').fill('grace');
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await button('Log in').click();
    await page.getByText('22:00 to 07:00').waitFor();
    await page.getByText('Only administrators change what follows').waitFor();
    await page.getByText('Nothing is muted').waitFor();
    for (const name of ['Change the quiet hours', 'Mute', 'Plan maintenance']) {
      expect(await button(name).count()).toBe(0);
    }
    await open('/app/incidents');
    await button('Acknowledge').waitFor();
    expect(await button('Mute until …').count()).toBe(0);
  });

  it('passes the axe checks and fits a phone', async () => {
    const { complaints, open, page } = site;
    await sql(
      site.db,
      `INSERT INTO quiet_hours (from_time, to_time, time_zone, days, critical_passes, updated_by)
       VALUES ('00:00', '00:00', 'UTC', '{1,2,3,4,5,6,7}', false, 'ada')`,
    );
    await sql(
      site.db,
      `INSERT INTO mutes (scope, until, created_by) VALUES ('all', now() + interval '1 day', 'ada')`,
    );
    await sql(
      site.db,
      `INSERT INTO maintenance_windows (note, starts_at, ends_at, time_zone, created_by)
       VALUES ($1, now() - interval '1 hour', now() + interval '1 day', 'UTC', 'ada')`,
      ['x'.repeat(200)],
    );
    await insert(site.db, 'incidents', { rule: 'run_failed', summary: 'Run 1 failed' });
    await page.setViewportSize({ width: 390, height: 800 });
    await site.logIn();
    await open('/app/settings?tab=alerts');
    await button('Plan maintenance').waitFor();
    await button('Change the quiet hours').waitFor();
    expect(await width()).toBeLessThanOrEqual(390);
    expect(await findViolations(page)).toEqual([]);
    await button('Plan maintenance').click();
    await field('What is done').waitFor();
    expect(await findViolations(page)).toEqual([]);
    await open('/app/incidents');
    await page.getByText('Everything is muted').waitFor();
    await page.getByText(/^Quiet until/).waitFor();
    expect(await width()).toBeLessThanOrEqual(390);
    expect(await findViolations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  });
});
