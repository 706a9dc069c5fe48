import { createPublicKey, verify } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { hasChromium } from '../support/chromium.ts';
import { someDrill } from '../support/drills.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insertResult, insertRun, sql } from '../support/records.ts';

describe.skipIf(!hasChromium)('signed statements on the page (skipped without Chromium)', () => {
  const site = usePage();

  beforeAll(async () => {
    const { db } = site;
    const run = await insertRun(db, { status: 'completed', total_repos: 2, successful: 2 });
    for (const repository of ['acme/before', 'acme/signed']) {
      await insertResult(db, run, repository);
      await recordDrill(db, someDrill({ repository }), null);
    }
    // As if the first had been recorded before the server was started.
    await sql(db, 'UPDATE signing_keys SET after_drill = 1');
  });

  const section = () => site.page.getByRole('region', { name: 'Restore drills' });
  const keys = () => site.page.getByRole('region', { name: 'Signing key' });

  async function save(press: () => Promise<void>) {
    const [download] = await Promise.all([site.page.waitForEvent('download'), press()]);
    return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
  }

  it('can be downloaded for each drill, and are signed with the key of the reports', async () => {
    await site.open('/app/repositories/acme/signed?tab=drills');
    const get = (item: string) =>
      save(async () => {
        await section().getByRole('button', { name: 'Signed statement of drill 2' }).click();
        await site.page.getByRole('menuitem', { name: item }).click();
      });
    const envelope = await get('In-toto statement in a DSSE envelope');
    const statement = await get('Statement alone');
    const signature = await get('Its detached signature');
    expect([envelope, statement, signature].map(({ name }) => name)).toEqual([
      'restore-drill-2.dsse.json',
      'restore-drill-2.statement.json',
      'restore-drill-2.statement.sig',
    ]);
    expect(await findViolations(site.page)).toEqual([]);
    await site.open('/app/reports');
    const key = await save(() =>
      keys()
        .getByRole('link', { name: /public key/ })
        .click(),
    );
    const { bytes } = statement;
    expect(verify(null, bytes, createPublicKey(key.bytes), signature.bytes)).toBe(true);
    expect(await findViolations(site.page)).toEqual([]);
  });

  it('are missing for drills from before the key, as the page says', async () => {
    await site.open('/app/repositories/acme/before?tab=drills');
    await section().getByText('None: it is from before the signing key').waitFor();
    expect(
      await section()
        .getByRole('button', { name: /Signed statement/ })
        .count(),
    ).toBe(0);
  });

  it('stay valid when an administrator replaces the key', async () => {
    await site.open('/app/reports');
    await keys().getByRole('button', { name: 'Replace the key' }).click();
    await site.page.getByRole('button', { name: 'Replace', exact: true }).click();
    await keys().getByText('Former key').waitFor();
    expect(await keys().getByText('Current key').count()).toBe(1);
    expect(
      await keys()
        .getByRole('link', { name: /public key/ })
        .count(),
    ).toBe(2);
  });
});
