import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recordCoverage } from '../../lib/records/recording/coverage.ts';
import { hasChromium } from '../support/chromium.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insert, insertResult, insertRun, sql } from '../support/records.ts';

const HOSTILE = '<img src=x onerror="document.title=1">';
const id = (letter: string) => letter.repeat(40);

describe.skipIf(!hasChromium)('anomalies on the page (skipped without Chromium)', () => {
  const site = usePage();

  beforeAll(async () => {
    const { db } = site;
    const run = await insertRun(db, { status: 'completed', total_repos: 3, successful: 3 });
    await insertResult(db, run, 'acme/app');
    await insertResult(db, run, 'acme/quiet');
    await insertResult(db, run, 'acme/gone', { created_at: '2026-01-01T00:00:00Z' });
    await insertResult(db, run, 'acme/gone', {
      ...{ status: 'failed', fault: 'missing', error_message: 'access lost: it answers 404' },
    });
  });
  beforeEach(async () => {
    const { db } = site;
    await sql(db, 'TRUNCATE anomalies, incidents RESTART IDENTITY CASCADE');
    const seen_at = new Date().toISOString();
    await insert(db, 'anomalies', {
      ...{ repo_full_name: 'acme/app', run_id: 1, version: 2, kind: 'branches_rewritten', seen_at },
      change_count: 30,
      before: JSON.stringify({ 'refs/heads/main': id('a'), [`refs/heads/${HOSTILE}`]: id('b') }),
      after: JSON.stringify({ 'refs/heads/main': id('c') }),
    });
    await insert(db, 'anomalies', {
      ...{ repo_full_name: null, run_id: 1, kind: 'missing', seen_at },
      before: JSON.stringify({ 'acme/gone': 'listed' }),
    });
    await insert(db, 'anomalies', {
      ...{ repo_full_name: 'acme/app', version: 1, kind: 'noted', seen_at: '2026-01-01T00:00:00Z' },
      after: JSON.stringify({ warning: 'the note was lost' }),
      ...{ confirmed_at: '2026-01-02T00:00:00Z', confirmed_by: HOSTILE },
    });
  });

  const section = (name = 'Anomalies') => site.page.getByRole('region', { name });

  it('show what there was before and after, and who confirmed them', async () => {
    await site.open('/app/repositories/acme/app');
    await section().getByText('Branches were rewritten').waitFor();
    const [open, confirmed] = await section().getByRole('alert').allTextContents();
    expect(open).toContain('refs/heads/main: aaaaaaaaaaaa → cccccccccccc');
    expect(open).toContain(`refs/heads/${HOSTILE}: bbbbbbbbbbbb → gone`);
    expect(open).toContain('30 in total');
    expect(confirmed).toContain('the note was lost');
    expect(confirmed).toContain(`by ${HOSTILE}.`);
  });

  it('resolve their incident at once when they are confirmed', async () => {
    const { db } = site;
    await insert(db, 'incidents', { rule: 'anomaly', summary: '1 repository changed' });
    await sql(
      db,
      "INSERT INTO incident_repositories (incident_id, repository_name) VALUES (1, 'acme/app')",
    );
    await site.open('/app/repositories/acme/app');
    await section('Open incidents').getByText('1 repository changed').waitFor();
    await section().getByRole('button', { name: 'Confirm' }).click();
    await section('Open incidents').waitFor({ state: 'detached' });
  });

  it('are confirmed one by one, on the overview too', async () => {
    await site.open('/app/');
    const open = section('To confirm');
    await open.getByText('Many repositories are missing at once').waitFor();
    expect(await open.getByRole('alert').count()).toBe(2);
    await open.getByRole('button', { name: 'Confirm' }).last().click();
    await open.getByText('Branches were rewritten').waitFor({ state: 'hidden' });
    await open.getByText('Many repositories are missing at once').waitFor();
    expect(
      await sql(
        site.db,
        'SELECT kind, confirmed_by FROM anomalies WHERE confirmed_at IS NOT NULL ORDER BY id',
      ),
    ).toEqual([
      { kind: 'branches_rewritten', confirmed_by: expect.any(String) },
      { kind: 'noted', confirmed_by: HOSTILE },
    ]);
    await open.getByRole('button', { name: 'Confirm' }).click();
    await open.waitFor({ state: 'hidden' });
  });

  it('are replaced by a note where there are none', async () => {
    await site.open('/app/repositories/acme/quiet');
    await section().getByText('nothing shrank').waitFor();
    expect(await section().getByRole('button').count()).toBe(0);
  });

  it('are accompanied by what would be lost with the source, and by what is not backed up', async () => {
    await recordCoverage(site.db, 1, [
      { name: 'acme/app', plan: 'taken', reason: '', facts: { has_wiki: true, open_issues: 3 } },
      { name: 'acme/left', plan: 'excluded', reason: `by ${HOSTILE}`, facts: {} },
    ]);
    const { open, page } = site;
    await open('/app/repositories/acme/app');
    await section('What you would lose with the source').getByText('Its wiki').waitFor();
    await page.setViewportSize({ width: 390, height: 800 });
    await open('/app/repositories');
    await section('Coverage')
      .getByText(/^1 of 2 repositories .* is backed up\.$/)
      .waitFor();
    expect(await section('Coverage').getByRole('table').textContent()).toBe(
      `acme/leftexcludedby ${HOSTILE}`,
    );
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(390);
    expect(await findViolations(page)).toEqual([]);
  });

  it('are accompanied by the reason why a repository is lost', async () => {
    await site.open('/app/repositories/acme/gone');
    await site.page.getByText('Lost at its source').first().waitFor();
    await site.page.getByText('access lost: it answers 404').first().waitFor();
    await site.open('/app/repositories?state=lost');
    await site.page.getByRole('cell', { name: 'Lost at its source', exact: true }).waitFor();
  });

  it('pass the axe checks', async () => {
    const { complaints, open, page } = site;
    await open('/app/repositories/acme/app');
    await section().getByText('Branches were rewritten').waitFor();
    expect(await findViolations(page)).toEqual([]);
    await open('/app/');
    await section('To confirm').getByText('Branches were rewritten').waitFor();
    expect(await findViolations(page)).toEqual([]);
    expect(await page.title()).not.toBe('1');
    expect(complaints.filter((text) => !text.includes('404'))).toEqual([]);
  });

  it('fit the width of a phone', async () => {
    const { open, page } = site;
    await page.setViewportSize({ width: 390, height: 800 });
    for (const path of ['/app/repositories/acme/app', '/app/']) {
      await open(path);
      await page.getByText('Branches were rewritten').waitFor();
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect(width).toBeLessThanOrEqual(390);
    }
  });
});
