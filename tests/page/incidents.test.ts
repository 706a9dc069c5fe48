import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasChromium } from '../support/chromium.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insert, insertResult, insertRun, sql } from '../support/records.ts';

const HOSTILE = '<img src=x onerror="document.title=1">';

describe.skipIf(!hasChromium)('incidents on the page (skipped without Chromium)', () => {
  const site = usePage();

  beforeAll(async () => {
    const { db } = site;
    const run = await insertRun(db, { status: 'completed', total_repos: 2, successful: 2 });
    await insertResult(db, run, 'acme/app');
    await insertResult(db, run, 'acme/quiet');
  });
  beforeEach(async () => {
    const { db } = site;
    await sql(db, 'TRUNCATE incidents RESTART IDENTITY CASCADE');
  });

  /** Adds an open incident with 8 repositories and two messages, and a resolved one. */
  async function addIncidents() {
    const { db } = site;
    await insert(db, 'incidents', {
      ...{ rule: 'repository_failing', summary: `8 repositories: ${HOSTILE}` },
    });
    await insert(db, 'incidents', {
      ...{ rule: 'destination_unreachable', subject: `s3://${'a'.repeat(90)}` },
      ...{ summary: 'it was unreachable', resolved_at: '2026-03-01T00:00:00Z' },
    });
    await sql(
      db,
      `INSERT INTO incident_repositories (incident_id, repository_name, reason)
       SELECT 1, CASE n WHEN 1 THEN 'acme/app' ELSE 'acme/z' || n END, 'it broke ' || n FROM generate_series(1, 8) AS n`,
    );
    await sql(
      db,
      `INSERT INTO alert_deliveries (incident_id, kind, about_at, channel, attempts, delivered_at, given_up_at, last_error) VALUES
         (1, 'opened', now(), 'phone', 1, now(), NULL, NULL),
         (1, 'opened', now(), $1, 2, NULL, now(), 'the webhook answered 500')`,
      [HOSTILE],
    );
  }

  const articles = () => site.page.getByRole('article');

  it('show that none is open, and how to be notified', async () => {
    const { open, page } = site;
    await open('/app/incidents');
    await page.getByText('No open incidents').waitFor();
    await page.getByText('Resolved', { exact: true }).click();
    await page.getByText('No resolved incidents yet').waitFor();
    await page.getByText('Open', { exact: true }).click();
    await page.getByRole('link', { name: 'add a channel' }).click();
    await page.getByRole('heading', { name: 'Alert channels' }).waitFor();
  });

  it('show their repositories, and who was notified', async () => {
    await addIncidents();
    const { open, page } = site;
    await open('/app/incidents');
    await articles().getByText('it broke 1', { exact: false }).first().waitFor();
    expect(await articles().count()).toBe(1);
    expect(await articles().textContent()).toContain(HOSTILE);
    // The advice shows its command as code.
    await articles().getByText('What to do: Read the reason for each').waitFor();
    await articles().getByText('npm run worker -- run …', { exact: true }).waitFor();
    await page.getByRole('button', { name: '3 more' }).click();
    await articles().getByText('it broke 8').waitFor();
    await articles().getByText('2 messages, 1 not delivered').waitFor();
    await page.getByRole('button', { name: 'Show messages' }).click();
    const table = await page.getByRole('table', { name: 'Messages' }).textContent();
    expect(table).toContain('not delivered after 2 tries: the webhook answered 500');
    expect(table).toContain('phone');
    await page.getByText('Resolved', { exact: true }).click();
    await articles().getByText('it was unreachable').waitFor();
    expect(await articles().getByText('What to do').count()).toBe(0);
    await articles().getByText('Nobody was notified.').waitFor();
    expect(await page.title()).not.toBe('1');
  });

  it('show that nobody was notified yet, and where to add a channel', async () => {
    await insert(site.db, 'incidents', { rule: 'run_failed', summary: 'Run 1 failed' });
    const { open, page } = site;
    await open('/app/incidents');
    await articles().getByText('Nobody has been notified yet').waitFor();
    await articles().getByRole('link', { name: 'add one' }).click();
    await page.getByRole('heading', { name: 'Alert channels' }).waitFor();
  });

  it('are counted on the overview, and in the navigation until they are acknowledged', async () => {
    await addIncidents();
    const { open, page } = site;
    await open('/app/');
    await page.getByText('1 incident is open. All 2 repositories are backed up.').waitFor();
    await page.getByRole('link', { name: 'See incidents' }).click();
    await page.getByLabel('1 unacknowledged').waitFor();
    await page.getByRole('button', { name: 'Acknowledge' }).click();
    await page.getByText('Acknowledged', { exact: false }).first().waitFor();
    await page.getByLabel('1 unacknowledged').waitFor({ state: 'detached' });
    expect(await sql(site.db, 'SELECT acknowledged_by FROM incidents ORDER BY id')).toEqual([
      { acknowledged_by: expect.stringMatching(/./) },
      { acknowledged_by: null },
    ]);
  });

  it('are only shown on the pages of the repositories they affect', async () => {
    await addIncidents();
    const { open, page } = site;
    await open('/app/repositories/acme/app');
    const section = page.getByRole('region', { name: 'Open incidents' });
    await section.getByText('Repositories are not backed up').waitFor();
    await open('/app/repositories/acme/quiet');
    await page.getByText('Last good backup').waitFor();
    expect(await section.count()).toBe(0);
  });

  it('pass the axe checks and fit a phone', async () => {
    await addIncidents();
    const { complaints, open, page } = site;
    await page.setViewportSize({ width: 390, height: 800 });
    await open('/app/incidents');
    await page.getByRole('button', { name: 'Show messages' }).click();
    await page.getByRole('table', { name: 'Messages' }).waitFor();
    expect(await findViolations(page)).toEqual([]);
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(390);
    await open('/app/incidents?state=resolved');
    await articles().getByText('it was unreachable').waitFor();
    expect(await findViolations(page)).toEqual([]);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
      390,
    );
    expect(complaints).toEqual([]);
  });
});
