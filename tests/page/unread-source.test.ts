import { beforeAll, describe, expect, it } from 'vitest';
import { hasChromium } from '../support/chromium.ts';
import { findViolations, usePage } from '../support/page.ts';
import { insertResult, insertRun } from '../support/records.ts';

describe.skipIf(!hasChromium)(
  'a source that was never read, on the page (skipped without Chromium)',
  () => {
    const site = usePage();
    let run: number;

    beforeAll(async () => {
      const { db } = site;
      const counts = { total_repos: 1, successful: 1, failed: 0, skipped: 0 };
      run = await insertRun(db, {
        ...{ status: 'completed', ...counts, error_message: '1 source could not be read: /srv/xx' },
        unread_sources: JSON.stringify({ '/srv/xx': 'there is no folder /srv/xx' }),
      });
      await insertResult(db, run, 'acme/api');
    });

    it('is named by its run, which is not green and counts it as no repository', async () => {
      await site.open('/app/runs?failures=true');
      await site.page.getByRole('row').getByText('With failures', { exact: true }).waitFor();
      await site.open(`/app/runs/${run}`);
      await site.page.getByText('With failures', { exact: true }).waitFor();
      const alert = site.page.getByRole('alert');
      const text = await alert.textContent();
      expect(text).toContain('1 source could not be read/srv/xx: there is no folder /srv/xx');
      expect(text).toContain('does not count as a repository');
      const actions = site.page.getByRole('listitem');
      await actions.getByText('Correct the path or address of each source').waitFor();
      expect(await site.page.getByText('queue a run').count()).toBe(0);
      expect(await findViolations(site.page)).toEqual([]);
      await site.page.setViewportSize({ width: 390, height: 800 });
      await site.open(`/app/runs/${run}`);
      await site.page.getByText('1 source could not be read').waitFor();
      const width = await site.page.evaluate<number>('document.documentElement.scrollWidth');
      expect(width).toBeLessThanOrEqual(390);
      expect(site.complaints).toEqual([]);
    });
  },
);
