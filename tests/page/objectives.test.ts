import { beforeAll, describe, expect, it } from 'vitest';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { hasChromium } from '../support/chromium.ts';
import { someDrill } from '../support/drills.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insertResult, insertRun, sql } from '../support/records.ts';

describe.skipIf(!hasChromium)('objectives on the page (skipped without Chromium)', () => {
  const site = usePage();
  const at = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString();

  beforeAll(async () => {
    const { db } = site;
    const run = await insertRun(db, { status: 'completed', total_repos: 2, successful: 2 });
    for (const hours of [48, 1]) {
      await insertResult(db, run, 'acme/web', { created_at: at(hours) });
      await insertResult(db, run, 'ada/app', { created_at: at(hours) });
    }
    await recordDrill(db, someDrill({ repository: 'acme/web', startedAt: at(5) }), null);
  });

  const button = (name: string) => site.page.getByRole('button', { name, exact: true });
  const field = (name: string) => site.page.getByLabel(name);
  const group = (name: string) => site.page.getByRole('article', { name });

  it('are added with a form whose errors stand at the fields', async () => {
    await site.open('/app/settings?tab=objectives');
    await site.page.getByText('No objectives yet').waitFor();
    await button('Add an objective').click();
    await button('Save').click();
    await site.page.getByText('Give the group a name').waitFor();
    await site.page.getByText('Name at least one repository').waitFor();
    await site.page.getByText('Set an RPO or an RTO').waitFor();
    expect(await findViolations(site.page)).toEqual([]);
    await field('Name').fill('Customers');
    await field('Repositories').fill('acme/*');
    await field('The newest backup is at most so old (RPO)').fill('24');
    await field('A restore takes at most (RTO)').fill('15');
    await button('Save').click();
    await group('Customers').waitFor();
    expect(await group('Customers').textContent()).toMatch(
      /1 repository: acme\/\*EditRemoveRPO 24 h: 52\.0\d %, 1 of 1 within it now, measured since 2 days agoRTO 15 min: 100\.00 %, 1 of 1 restore drills, the slowest took 1\.2 s/,
    );
    await site.page.getByText('1 repository belongs to no objective.').waitFor();
    expect(await findViolations(site.page)).toEqual([]);
  });

  it('say at the field that a name is taken', async () => {
    await site.open('/app/settings?tab=objectives');
    await button('Add an objective').click();
    await field('Name').fill('customers');
    await field('Repositories').fill('*');
    await field('The newest backup is at most so old (RPO)').fill('1');
    await button('Save').click();
    await site.page.getByText('there is already an objective of this name').waitFor();
    await button('Cancel').click();
  });

  it('are shown on the overview, and fit a phone', async () => {
    await site.page.setViewportSize({ width: 390, height: 844 });
    await site.open('/app/');
    const section = site.page.getByRole('region', { name: 'Objectives' });
    await section.getByText('Customers').waitFor();
    const width = () => site.page.evaluate<number>('document.documentElement.scrollWidth');
    expect(await width()).toBeLessThanOrEqual(390);
    expect(await findViolations(site.page)).toEqual([]);
    await section.getByRole('link', { name: 'Objectives' }).click();
    await group('Customers').waitFor();
    expect(await width()).toBeLessThanOrEqual(390);
    await site.page.setViewportSize({ width: 1280, height: 720 });
  });

  it('are changed and removed', async () => {
    await site.open('/app/settings?tab=objectives');
    await button('Edit Customers').click();
    await field('A restore takes at most (RTO)').fill('');
    await button('Save').click();
    await group('Customers').getByText('RTO').waitFor({ state: 'detached' });
    await button('Remove Customers').click();
    await button('Remove').click();
    await site.page.getByText('No objectives yet').waitFor();
    expect(await sql(site.db, 'SELECT id FROM objectives')).toEqual([]);
  });
});
