import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Authorization, startAuthorization } from '../support/authorization-page.ts';
import { hasChromium } from '../support/chromium.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { usePage } from '../support/page.ts';
import { insertLog, sql } from '../support/records.ts';

// A real browser with the server of `npm start`, and stand-ins for the model gateway and its page.

describe.skipIf(!hasChromium)('the model settings (skipped without Chromium)', () => {
  let gateway: Gateway;
  let authorization: Authorization;

  beforeAll(async () => {
    [gateway, authorization] = await Promise.all([startGateway(), startAuthorization()]);
  });
  afterAll(() => Promise.all([gateway.close(), authorization.close()]));
  const site = usePage({
    isEmbedded: true,
    environment: () => ({
      GATEWAY_BASE_URL: gateway.url,
      GATEWAY_AUTHORIZE_URL: authorization.url,
    }),
    setsClock: true,
  });

  const button = (name: string) => site.page.getByRole('button', { name, exact: true });
  const openTab = (tab: string) => site.open(`/app/settings?tab=${tab}`);

  describe('for the gateway', () => {
    beforeEach(async () => {
      await sql(site.db, 'DELETE FROM gateway_connections');
      gateway.requests.length = 0;
      authorization.refuses = false;
    });

    /** Starts to connect a key, and returns the window that opens. */
    async function connect() {
      const opening = site.context.waitForEvent('page');
      await button('Connect your key').click();
      return opening;
    }

    it('connect a key with PKCE in a window of its own, and disconnect it', async () => {
      const { complaints, page } = site;
      await openTab('models');
      await page.getByText('No key is connected').waitFor();
      const popup = await connect();
      await popup.getByText('Your key is connected').waitFor();
      await page.getByText('which ends in').waitFor();

      const asked = authorization.asked.at(-1);
      const [exchange] = gateway.requestsTo('/auth/keys');
      const verifier = String(exchange?.body?.code_verifier);
      expect(exchange?.body).toMatchObject({ code: 'the-code', code_challenge_method: 'S256' });
      expect(asked?.get('code_challenge_method')).toBe('S256');
      expect(asked?.get('code_challenge')).toBe(
        createHash('sha256').update(verifier).digest('base64url'),
      );
      expect(asked?.get('callback_url')).toContain(
        `${site.world.server.url}/app/settings/gateway/`,
      );
      expect(await page.evaluate<string>('JSON.stringify({...sessionStorage})')).not.toContain(
        verifier,
      );
      // The gateway's page has no access to ours.
      expect(await popup.evaluate<boolean>('window.opener === null')).toBe(true);

      await button('Disconnect').click();
      await page.getByText('No key is connected').waitFor();
      expect(complaints).toEqual([]);
    });

    it('reject a code with a forged state', async () => {
      const { context, page } = site;
      await openTab('models');
      authorization.holds();
      const popup = await connect();
      await page.getByText('Allow access in the gateway’s window').waitFor();
      const forged = await context.newPage();
      await forged.clock.install();
      await forged.goto(`${site.world.server.url}/app/settings/gateway/forged?code=theirs`);
      await forged.getByLabel('Connecting').waitFor();
      await forged.clock.runFor(21_000);
      await forged.getByText('The page that started this is no longer open').waitFor();
      expect(gateway.requestsTo('/auth/keys')).toEqual([]);
      // The login that was started before still works.
      await popup.goto(authorization.answer());
      await page.getByText('which ends in').waitFor();
    });

    it('connect a key in the same window too', async () => {
      const { page } = site;
      await openTab('models');
      authorization.holds();
      const popup = await connect();
      await popup.getByText('Allow?').waitFor();
      const address = await page.getByRole('link', { name: 'Open it' }).getAttribute('href');
      await page.goto(address ?? '');
      await page.getByText('Your key is connected').waitFor();
      await page.getByRole('link', { name: 'Go to the settings' }).click();
      await page.getByText('which ends in').waitFor();
    });

    it('show in both windows why the gateway returned no key', async () => {
      gateway.script('/auth/keys', { status: 403 });
      await openTab('models');
      const popup = await connect();
      await popup.getByText('the model gateway refused the code').waitFor();
      await site.page.getByText('the model gateway refused the code').waitFor();
    });

    it('report that the gateway returned no code', async () => {
      authorization.refuses = true;
      await openTab('models');
      const popup = await connect();
      await popup.getByText('The gateway returned no code').waitFor();
    });

    it('list the reranking models', async () => {
      await openTab('models');
      await site.page.getByText('acme/rerank-free').waitFor();
      expect(await site.page.getByText('acme/rerank-paid').count()).toBe(0);
    });
  });

  describe('for vectors', () => {
    const generations = async () =>
      (await sql<{ status: string }>(site.db, 'SELECT status FROM embedding_generations')).map(
        ({ status }) => status,
      );

    beforeAll(async () => {
      for (let number = 1; number <= 30; number += 1) {
        await insertLog(site.db, {
          level: 'info',
          message: `cloned repository ${number}`,
        });
      }
    });

    it('show the cost before vectors are built, and let them be used, replaced and deleted', async () => {
      const { complaints, page } = site;
      await openTab('search');
      await page.getByText('No vectors yet').waitFor();
      await button('Choose a model').click();
      await page.getByRole('radio', { name: 'Acme Embed' }).check();
      expect(await page.getByRole('radio', { name: 'Acme Embed Pro' }).count()).toBe(0);
      await page.getByRole('radio', { name: /hashing|Hashing/ }).check();
      await button('Continue').click();
      await page
        .getByText('the server computes the vectors itself, and nothing leaves it')
        .waitFor();
      expect(await generations()).toEqual([]);
      await button('Build').click();
      await button('Use for searches').click();
      await page.getByRole('row').filter({ hasText: '#1' }).getByText('In use').waitFor();
      await page.getByText('30 vectors').waitFor();

      await button('Switch model').click();
      await page.getByRole('radio', { name: /hashing|Hashing/ }).check();
      await button('Continue').click();
      await page.getByText('about 30 records').waitFor();
      await button('Build').click();
      await button('Use for searches').click();
      await page.getByRole('row').filter({ hasText: '#1' }).getByText('Retired').waitFor();
      await button('Delete retired and failed generations').click();
      await page.getByRole('row').filter({ hasText: '#1' }).waitFor({ state: 'detached' });
      expect(await generations()).toEqual(['ACTIVE']);
      expect(complaints).toEqual([]);
    });

    it('show the progress of vectors and what failed, and continue to build them', async () => {
      const { db } = site;
      await sql(
        db,
        "INSERT INTO embedding_generations (id, model_id, dimensions) VALUES (50, 'local/hashing-384', 384)",
      );
      await sql(
        db,
        `INSERT INTO embedding_jobs (generation_id, source_type, source_id, status, error_message)
         SELECT 50, 'execution_log', id::text,
           CASE WHEN id % 10 = 0 THEN 'failed' WHEN id % 2 = 0 THEN 'completed' ELSE 'pending' END,
           CASE WHEN id % 10 = 0 THEN 'the model was too slow' END
         FROM execution_logs`,
      );
      const { page } = site;
      await openTab('search');
      await page.getByText('15 of 30 records, 50%, 3 failed').waitFor();
      const bar = page.getByRole('progressbar', { name: 'Records with vectors' });
      expect(await bar.getAttribute('aria-valuenow')).toBe('50');
      await page.getByText('the model was too slow').waitFor();
      expect(await button('Switch model').isDisabled()).toBe(true);
      // Another process finishes five jobs, and the page shows it by itself.
      await sql(
        db,
        `UPDATE embedding_jobs SET status = 'completed' WHERE id IN
           (SELECT id FROM embedding_jobs WHERE generation_id = 50 AND status = 'pending' LIMIT 5)`,
      );
      await page.getByText('20 of 30 records').waitFor();
      await button('Build here').click();
      await button('Use for searches').waitFor();
    });
  });
});
