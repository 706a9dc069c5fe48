import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  findViolations,
  hasChromium,
  type PageWorld,
  startPageWorld,
  type Window,
} from '../support/page.ts';
import { insertResult, insertRun, sql } from '../support/records.ts';

const NAME = `acme/${'long-'.repeat(20)}<b>app`;

describe.skipIf(!hasChromium)('badges on the page (skipped without /usr/bin/chromium)', () => {
  let world: PageWorld;
  let window: Window;

  beforeAll(async () => {
    world = await startPageWorld();
    const { db } = world.database;
    const run = await insertRun(db, { status: 'completed', total_repos: 2, successful: 2 });
    await insertResult(db, run, 'acme/app', { archive_size_bytes: 7 });
    await insertResult(db, run, NAME, { archive_size_bytes: 7 });
  });
  afterAll(() => world.close());
  beforeEach(async () => {
    await sql(world.database.db, 'TRUNCATE badges RESTART IDENTITY');
    window = await world.openWindow();
    await window.logIn();
  });
  afterEach(() => window.context.close());

  const section = () => window.page.getByRole('region', { name: 'Badges' });
  const button = (name: string) => section().getByRole('button', { name, exact: true });

  it('are made for a repository, shown once with their address, and revoked', async () => {
    await window.open('/app/repositories/acme/app');
    await section().getByText('There is none yet.').waitFor();
    await button('Make a badge').click();
    const image = section().getByRole('img', { name: 'The new badge' });
    await image.waitFor();
    await window.page.waitForFunction(
      'document.querySelector(\'img[alt="The new badge"]\').naturalWidth > 0',
    );
    const path = (await image.getAttribute('src')) ?? '';
    const { origin } = new URL(window.page.url());
    await section().getByText(`![backup](${origin}${path})`, { exact: true }).waitFor();
    await section()
      .getByText(`${origin}${path.replace('.svg', '.json')}`, { exact: true })
      .waitFor();
    const read = async () => (await fetch(`${origin}${path}`)).status;
    expect(await read()).toBe(200);

    await button('Revoke badge 1').click();
    const dialog = window.page.getByRole('dialog', { name: 'Revoke a badge' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(await read()).toBe(200);
    await button('Revoke badge 1').click();
    await dialog.getByRole('button', { name: 'Revoke' }).click();
    await section().getByText('There is none yet.').waitFor();
    expect(await image.count()).toBe(0);
    expect(await read()).toBe(404);
    // The archive of this repository is nowhere.
    expect(window.complaints.filter((text) => !text.includes('status of 404'))).toEqual([]);
  });

  it('are listed below the repositories, those of all among them', async () => {
    await window.open('/app/repositories');
    await button('Make a badge of all repositories').click();
    await section().getByText('All repositories', { exact: true }).waitFor();
    await sql(
      world.database.db,
      "INSERT INTO badges (token_sha256, repository_name, created_by) VALUES ('x', $1, 'ada')",
      [NAME],
    );
    await window.page.reload();
    await section().getByText(NAME).waitFor();
    await section()
      .getByText(/^Badge 2, made .* by ada$/)
      .waitFor();
    expect(window.complaints).toEqual([]);
  });

  it('fit a phone, and axe finds nothing', async () => {
    await window.page.setViewportSize({ width: 390, height: 844 });
    await sql(
      world.database.db,
      "INSERT INTO badges (token_sha256, repository_name) VALUES ('x', $1)",
      [NAME],
    );
    await window.open('/app/repositories');
    await button('Make a badge of all repositories').click();
    await section().getByRole('img', { name: 'The new badge' }).waitFor();
    const width = await window.page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(390);
    for (const colorScheme of ['light', 'dark'] as const) {
      await window.page.emulateMedia({ colorScheme });
      expect(await findViolations(window.page)).toEqual([]);
    }
  });
});
