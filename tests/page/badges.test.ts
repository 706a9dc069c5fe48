import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { hasChromium } from '../support/chromium.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insertResult, insertRun, sql } from '../support/records.ts';

const NAME = `acme/${'long-'.repeat(20)}<b>app`;

describe.skipIf(!hasChromium)('badges on the page (skipped without Chromium)', () => {
  const site = usePage();

  beforeAll(async () => {
    const { db } = site;
    const run = await insertRun(db, { status: 'completed', total_repos: 2, successful: 2 });
    await insertResult(db, run, 'acme/app', { archive_size_bytes: 7 });
    await insertResult(db, run, NAME, { archive_size_bytes: 7 });
  });
  beforeEach(async () => {
    await sql(site.db, 'TRUNCATE badges RESTART IDENTITY');
  });

  const section = () => site.page.getByRole('region', { name: 'Badges' });
  const button = (name: string) => section().getByRole('button', { name, exact: true });

  it('are created for a repository, show their address once, and are revoked', async () => {
    await site.open('/app/repositories/acme/app?tab=badges');
    await section().getByText('No badges yet.').waitFor();
    await button('Create a badge').click();
    const image = section().getByRole('img', { name: 'The new badge' });
    await image.waitFor();
    await site.page.waitForFunction(
      'document.querySelector(\'img[alt="The new badge"]\').naturalWidth > 0',
    );
    const path = (await image.getAttribute('src')) ?? '';
    const { origin } = new URL(site.page.url());
    await section().getByText(`![backup](${origin}${path})`, { exact: true }).waitFor();
    await section()
      .getByText(`${origin}${path.replace('.svg', '.json')}`, { exact: true })
      .waitFor();
    const read = async () => (await fetch(`${origin}${path}`)).status;
    expect(await read()).toBe(200);

    await button('Revoke badge 1').click();
    const dialog = site.page.getByRole('dialog', { name: 'Revoke badge 1?' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await read()).toBe(200);
    await button('Revoke badge 1').click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await section().getByText('No badges yet.').waitFor();
    expect(await image.count()).toBe(0);
    expect(await read()).toBe(404);
    // This repository has no archive, so its page gets a 404.
    expect(site.complaints.filter((text) => !text.includes('status of 404'))).toEqual([]);
  });

  it('are listed below the repositories, including those for all repositories', async () => {
    await site.open('/app/repositories');
    await button('Create a badge for all repositories').click();
    await section().getByText('All repositories', { exact: true }).waitFor();
    await sql(
      site.db,
      "INSERT INTO badges (token_sha256, repository_name, created_by) VALUES ('x', $1, 'ada')",
      [NAME],
    );
    await site.page.reload();
    await section().getByText(NAME).waitFor();
    await section()
      .getByText(/^Badge 2, created .* by ada$/)
      .waitFor();
    expect(site.complaints).toEqual([]);
  });

  it('fit a phone and pass the axe checks', async () => {
    await site.page.setViewportSize({ width: 390, height: 844 });
    await sql(site.db, "INSERT INTO badges (token_sha256, repository_name) VALUES ('x', $1)", [
      NAME,
    ]);
    await site.open('/app/repositories');
    await button('Create a badge for all repositories').click();
    await section().getByRole('img', { name: 'The new badge' }).waitFor();
    const width = await site.page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(390);
    expect(await findViolations(site.page)).toEqual([]);
  });
});
