import { beforeAll, describe, expect, it } from 'vitest';
import { hasChromium } from '../support/chromium.ts';
import { usePage } from '../support/page.ts';
import { insertResult, insertRun } from '../support/records.ts';

describe.skipIf(!hasChromium)('a stopped run on the page (skipped without Chromium)', () => {
  const site = usePage();
  let stopped: number;

  beforeAll(async () => {
    const { db } = site;
    const good = await insertRun(db, { status: 'completed', total_repos: 1, successful: 1 });
    await insertResult(db, good, 'acme/api');
    const row = {
      ...{ status: 'failed', error_message: 'interrupted by SIGINT', total_repos: 1 },
      stopped_by: 'SIGINT',
    };
    stopped = await insertRun(db, row);
  });

  it('is reported on the overview, which is neither green nor red', async () => {
    await site.open('/app/');
    const state = site.page.getByRole('status', { name: 'State of the backups' });
    await state
      .getByText('The last run was stopped. The repository is backed up.', { exact: true })
      .waitFor();
    expect(await state.getAttribute('style')).toContain('blue');
  });

  it('is called stopped in the list and on its own page, not failed', async () => {
    await site.open('/app/runs');
    await site.page.getByRole('row').getByText('Stopped', { exact: true }).waitFor();
    await site.open(`/app/runs/${stopped}`);
    await site.page.getByText('Stopped', { exact: true }).waitFor();
    const alert = site.page.getByRole('alert');
    expect(await alert.textContent()).toBe('The run was stoppedinterrupted by SIGINT');
    expect(await alert.getAttribute('style')).toContain('blue');
    expect(await site.page.getByText('The run failed').count()).toBe(0);
  });
});
