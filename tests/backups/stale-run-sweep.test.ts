import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createBackupsApp } from '../../lib/backups/app.ts';
import { startStaleRunSweep, sweep } from '../../lib/backups/runs/stale-run-sweep.ts';
import { type Client, createClient } from '../support/client.ts';
import { TEST_SECRET, type TestDepsOptions, withSecret } from '../support/deps.ts';
import { useDatabase } from '../support/hooks.ts';
import { startAlertReceiver } from '../support/incidents.ts';
import { empty, insertRun, sql } from '../support/records.ts';

const PATH = '/api/cron/sweep-stale-runs';
const MINUTE_MS = 60_000;
const CRON_SECRET = 'a-secret-of-the-cron-of-tests-0123456789';

const database = useDatabase();

beforeEach(() => empty(database.db));

/** A client whose database was just used and has one stale run. */
async function withStaleRun(
  options: TestDepsOptions = {},
): Promise<{ client: Client; id: number }> {
  const client = createClient({ db: database.db, ...options });
  const started = new Date(client.deps.clock.now() - 31 * MINUTE_MS).toISOString();
  const id = await insertRun(client.deps.db, { status: 'running', started_at: started });
  return { client, id };
}

const statusOf = async (id: number) =>
  (await sql<{ status: string }>(database.db, `SELECT status FROM backup_runs WHERE id = ${id}`))[0]
    ?.status;

describe.each(['GET', 'POST'])('%s /api/cron/sweep-stale-runs', (method) => {
  it('marks stale runs as failed, and returns their ids', async () => {
    const { client, id } = await withStaleRun();
    const { status, body } = await client.send(method, PATH);
    expect(status).toBe(200);
    expect(body).toEqual({ swept: 1, run_ids: [id] });
    expect(await statusOf(id)).toBe('failed');
    expect(client.deps.logged).toContainEqual(expect.objectContaining({ run_id: id }));
  });

  it('accepts CRON_SECRET as a bearer token, and INTERNAL_SECRET', async () => {
    const { client } = await withStaleRun({ environment: { CRON_SECRET } });
    for (const secret of [CRON_SECRET, TEST_SECRET]) {
      const { status } = await client.send(method, PATH, { Authorization: `Bearer ${secret}` });
      expect(status).toBe(200);
    }
    const { status } = await client.send(method, PATH, { 'X-Internal-Secret': CRON_SECRET });
    expect(status).toBe(401);
  });
});

it('a request without the secret is rejected before its body is read', async () => {
  const { client } = await withStaleRun();
  const response = await createBackupsApp(client.deps).request(PATH, {
    method: 'POST',
    body: 'x'.repeat(2 ** 21),
  });
  expect(response.status).toBe(401);
});

describe('the sweep', () => {
  it('does not touch a database that was never used', async () => {
    const queried = vi.spyOn(database.db, 'query');
    const client = createClient({ db: database.db });
    client.deps.clock.advance(10 * MINUTE_MS);
    const { body } = await client.get(PATH);
    expect(body).toEqual({ skipped: true, reason: 'the database is not in use' });
    expect(queried).not.toHaveBeenCalled();
    queried.mockRestore();
  });

  it('does not touch a database that was last used more than 10 minutes ago', async () => {
    const { client, id } = await withStaleRun();
    client.deps.clock.advance(10 * MINUTE_MS + 1);
    expect((await client.get(PATH)).body).toMatchObject({ skipped: true });
    expect(await statusOf(id)).toBe('running');
  });

  it('touches an idle database in the first 10 minutes of an hour, and raises alerts', async () => {
    const receiver = await startAlertReceiver();
    try {
      const environment = { ALERT_CHANNELS: receiver.address() };
      const { client, id } = await withStaleRun({ environment });
      const idle = createClient({ db: database.db, clock: client.deps.clock, environment });
      for (const minutes of [4, 9, 10, 10, 10, 10, 10]) {
        idle.deps.clock.advance(minutes * MINUTE_MS);
        const { body } = await idle.get(PATH);
        // 05:10, 05:19 and so on, until 06:09.
        const isFirst = new Date(idle.deps.clock.now()).getUTCMinutes() < 10;
        expect(body).toMatchObject(isFirst ? { run_ids: [id] } : { skipped: true });
      }
      expect(receiver.titles()).toEqual(['The last backup run failed']);
    } finally {
      await receiver.close();
    }
  });

  it('succeeds even if alerts cannot be raised, and logs the failure', async () => {
    const { client, id } = await withStaleRun();
    const { databaseUse } = client.deps;
    const broken = {
      ...databaseUse.unrecorded,
      query: ((statement, ...rest) =>
        statement.name === 'alert_evaluation'
          ? Promise.reject(new Error('no such table'))
          : databaseUse.unrecorded.query(
              statement,
              ...rest,
            )) as typeof databaseUse.unrecorded.query,
    };
    const deps = {
      ...client.deps,
      outageMemory: null,
      databaseUse: { ...databaseUse, unrecorded: broken },
    };
    expect(await sweep(deps)).toEqual({ swept: 1, run_ids: [id] });
    expect(client.deps.logged).toContainEqual(
      expect.objectContaining({ message: 'alerts could not be raised' }),
    );
  });

  it('does not count as use of the database, so that an idle one can sleep', async () => {
    const { client } = await withStaleRun();
    client.deps.clock.advance(9 * MINUTE_MS);
    expect((await client.get(PATH)).body).toMatchObject({ swept: 1 });
    client.deps.clock.advance(2 * MINUTE_MS);
    expect((await client.get(PATH)).body).toMatchObject({ skipped: true });
  });

  it('respects STALE_RUN_AFTER_MINUTES', async () => {
    const { client } = await withStaleRun({ environment: { STALE_RUN_AFTER_MINUTES: '45' } });
    expect((await client.get(PATH)).body).toEqual({ swept: 0, run_ids: [] });
  });

  it('requires its secret even if API_REQUIRE_AUTH is false', async () => {
    const { client } = await withStaleRun({ environment: { API_REQUIRE_AUTH: 'false' } });
    expect((await client.get(PATH, {})).status).toBe(401);
    expect((await client.get(PATH, withSecret)).status).toBe(200);
  });

  it('returns 503 when neither secret is configured', async () => {
    const { client } = await withStaleRun({
      environment: { API_REQUIRE_AUTH: 'false', INTERNAL_SECRET: undefined },
    });
    expect((await client.get(PATH, {})).status).toBe(503);
  });
});

describe('the sweeps of the local server', () => {
  let sweeping: ReturnType<typeof startStaleRunSweep> | null = null;
  afterEach(() => sweeping?.stop());

  it('run every 10 minutes until stopped', async () => {
    const { client, id } = await withStaleRun();
    sweeping = startStaleRunSweep({ ...client.deps, outageMemory: null });
    client.deps.clock.advance(10 * MINUTE_MS - 1);
    expect(await statusOf(id)).toBe('running');
    client.deps.clock.advance(1);
    await vi.waitFor(async () => expect(await statusOf(id)).toBe('failed'));
    await vi.waitFor(() => expect(client.deps.clock.sleepers()).toBe(1));
    await sweeping.stop();
    expect(client.deps.clock.sleepers()).toBe(0);
  });

  it('continue after a failed sweep, which is logged', async () => {
    const { client } = await withStaleRun();
    const { databaseUse } = client.deps;
    const broken = { ...client.deps, outageMemory: null, databaseUse: { ...databaseUse } };
    broken.databaseUse.lastUse = async () => {
      throw new Error('no answer');
    };
    sweeping = startStaleRunSweep(broken);
    for (const failures of [1, 2]) {
      client.deps.clock.advance(10 * MINUTE_MS);
      await vi.waitFor(() => {
        const logged = client.deps.logged.filter(({ level }) => level === 'error');
        expect(logged).toHaveLength(failures);
        expect(client.deps.clock.sleepers()).toBe(1);
      });
    }
  });
});
