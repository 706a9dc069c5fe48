import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { RunStopped } from '../../../lib/worker/base/stop.ts';
import { openLoginStore } from '../../../lib/worker/logins/login-store.ts';
import { findClosedPort } from '../../support/down-database.ts';
import { createRepository } from '../../support/git.ts';
import { startGitServer } from '../../support/git-server.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import {
  type AlertReceiver,
  HOUR_MS,
  listStored,
  startAlertReceiver,
} from '../../support/incidents.ts';
import { createMemoryKeychain } from '../../support/keychain.ts';
import { storeAppLogin } from '../../support/logins.ts';
import { sql } from '../../support/records.ts';
import type { WorkerCall } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);
let receiver: AlertReceiver;
beforeEach(async () => {
  receiver = await startAlertReceiver();
});
afterEach(() => receiver.close());

const run = (args: string[] = ['run'], more: Partial<WorkerCall> = {}) =>
  bench.run({
    ...{ databaseUrl: database.url, args, env: { ALERT_CHANNELS: receiver.address() } },
    ...more,
  });
const repository = async (name: string) => {
  const app = await createRepository(join(bench.folder, name));
  await app.commit({ 'a.txt': 'a' });
  return app.path;
};

const ANOMALY = 'Something changed at the source that you should look at';
const recordAnomaly = () =>
  sql(
    database.db,
    `INSERT INTO anomalies (repo_full_name, version, kind, change_count) VALUES ('o/a', 2, 'shrunk', 1)`,
  );

describe('the end of a run', () => {
  it('alerts once about a repository that failed twice, and again when it is backed up', async () => {
    const path = await repository('app');
    const args = ['run', '--source', path];
    await run(args);
    await rm(join(path, '.git'), { recursive: true });
    await run(args);
    await run(args);
    expect(receiver.titles()).toEqual(['Repositories are not backed up']);
    expect(receiver.received[0]?.body).toContain('local/app');
    await rm(path, { recursive: true });
    await repository('app');
    await run(args);
    expect(receiver.titles().slice(1)).toEqual(['Resolved: Repositories are not backed up']);
  });

  it('alerts about a refused login, but not about the failed run as well', async () => {
    await bench.add({ fullName: 'team/a', private: true });
    const token = await bench.logIn();
    const known = bench.host.state.tokens.get(token);
    bench.host.state.tokens.delete(token);
    expect((await run()).code).toBe(4);
    expect((await run()).code).toBe(4);
    expect(receiver.titles()).toEqual(['The git host refuses the login']);
    expect(receiver.received[0]?.body).not.toContain(token);
    expect(await listStored(database.db)).toMatchObject([
      { rule: 'login_expired', subject: bench.host.url, is_open: true },
    ]);
    if (known) bench.host.state.tokens.set(token, known);
    expect((await run()).code).toBe(0);
    expect(receiver.titles().slice(1)).toEqual(['Resolved: The git host refuses the login']);
  });

  it('alerts about a renewable login by its own expiry, not that of its 8-hour token', async () => {
    await bench.add({ fullName: 'team/a', private: true });
    const { host } = bench;
    host.state.reportsExpiration = true;
    const store = openLoginStore({
      folder: bench.env.BACKUP_CONFIG_DIR ?? '',
      keychain: createMemoryKeychain(),
      notify: () => undefined,
    });
    const runRenewable = async (days: number) => {
      host.state.refreshSeconds = days * 86_400;
      await storeAppLogin({ host, store, clock: systemClock }, 'github:source', ['file']);
      expect((await run()).code).toBe(0);
    };
    const title = 'The login of the git host expires soon';
    await runRenewable(183);
    expect(receiver.titles()).toEqual([]);
    await runRenewable(5);
    expect(receiver.titles()).toEqual([title]);
    await runRenewable(183);
    expect(receiver.titles()).toEqual([title, `Resolved: ${title}`]);
  });

  it('measures the disk of the archive folder', async () => {
    await run(['run', '--source', await repository('app')]);
    await run(['run', '--source', await repository('other')]);
    const rows = await sql<{ free: number; is_less: boolean }>(
      database.db,
      'SELECT free_bytes::float8 AS free, free_bytes <= total_bytes AS is_less FROM archive_disks',
    );
    expect(rows).toEqual([{ free: expect.any(Number), is_less: true }]);
    expect(rows[0]?.free).toBeGreaterThan(0);
  });

  it('is unaffected by a failing channel', async () => {
    receiver.answers.push({ status: 403 });
    const args = ['run', '--source', join(bench.folder, 'nothing')];
    const env = { ALERT_CHANNELS: receiver.address(), ALERT_FAILING_AFTER: '1' };
    const { code, stdout } = await run(args, { env });
    expect(code).toBe(1);
    expect(stdout).toContain('1 source not read');
    expect(receiver.received).toHaveLength(1);
  });

  it('leaves channels whose addresses it cannot read to the server', async () => {
    await sql(
      database.db,
      `INSERT INTO alert_channels (id, kind, name, sealed_address, place, created_by)
       VALUES (gen_random_uuid(), 'ntfy', 'of the page', 'sealed', '', 'ada')`,
    );
    const args = ['run', '--source', join(bench.folder, 'nothing')];
    const env = { ALERT_CHANNELS: receiver.address(), ALERT_FAILING_AFTER: '1' };
    await run(args, { env });
    expect(await sql(database.db, 'SELECT channel FROM alert_deliveries')).toEqual([
      { channel: 'phone' },
    ]);
    await sql(database.db, 'TRUNCATE alert_channels');
  });

  it('leaves alerts to the server after Ctrl-C during a clone', async () => {
    const server = await startGitServer();
    try {
      server.serve('team/app.git', await repository('app'));
      const args = ['run', '--source', `${server.url}/team/app.git`];
      const held = server.holdFetch();
      const stopping = new AbortController();
      const running = run(args, { signal: stopping.signal });
      await held.came;
      await recordAnomaly();
      stopping.abort(new RunStopped('interrupted by SIGINT'));
      expect((await running).stdout).toContain('failed (interrupted by SIGINT)');
      held.release();
      expect(receiver.titles()).toEqual([]);
      await run(args);
      expect(receiver.titles()).toEqual([ANOMALY]);
    } finally {
      await server.close();
    }
  });
});

describe('a command', () => {
  it('alerts when a drill fails and when a later one succeeds', async () => {
    const path = await repository('app');
    await run(['run', '--source', path]);
    const archive = join(bench.archives, 'local__app.bundle');
    const whole = await readFile(archive);
    await writeFile(archive, whole.subarray(0, 40));
    expect((await run(['drill', '--all'])).code).toBe(1);
    await writeFile(archive, whole);
    expect((await run(['drill', '--all'])).code).toBe(0);
    const title = 'A backup could not be restored';
    expect(receiver.titles()).toEqual([title, `Resolved: ${title}`]);
  });

  it('resolves the alert about an anomaly that it confirms', async () => {
    await recordAnomaly();
    await run(['run', '--source', await repository('app')]);
    await run(['anomalies', 'confirm', 'o/a']);
    expect(receiver.titles()).toEqual([ANOMALY, `Resolved: ${ANOMALY}`]);
  });
});

describe('an unreachable database', () => {
  const unreachable = async () => `postgres://nobody@127.0.0.1:${await findClosedPort()}/none`;
  const TITLE = 'The database cannot be reached';
  /** A run some hours later. */
  const later = (hours: number): Pick<WorkerCall, 'clock'> => ({
    clock: { ...systemClock, now: () => systemClock.now() + hours * HOUR_MS },
  });

  it('is reported once by the machine, and once more when it is back, with the incident', async () => {
    const args = ['run', '--source', await repository('app')];
    const databaseUrl = await unreachable();
    expect((await run(args, { databaseUrl })).code).toBe(0);
    expect((await run(args, { databaseUrl })).code).toBe(0);
    expect(receiver.titles()).toEqual([TITLE]);
    expect(receiver.received[0]?.body).toContain('What to do: Start the database');
    expect((await run(args)).code).toBe(0);
    await run(args);
    expect(receiver.titles()).toEqual([TITLE, `Resolved: ${TITLE}`]);
    expect(await listStored(database.db)).toMatchObject([
      { rule: 'database_unreachable', is_open: false },
    ]);
  });

  it('is reported again if the first message was refused', async () => {
    receiver.answers.push({ status: 429 });
    const args = ['run', '--source', await repository('app')];
    const databaseUrl = await unreachable();
    const { stderr } = await run(args, { databaseUrl });
    expect(stderr).toContain('the alert about the database did not reach phone: ntfy answered 429');
    await run(args, { databaseUrl, ...later(1) });
    await run(args, { databaseUrl, ...later(2) });
    expect(receiver.titles()).toEqual([TITLE, TITLE]);
  });

  it('is reported at most twice if it is unknown whether the message arrived', async () => {
    for (let n = 0; n < 3; n++) receiver.answers.push({ status: 500 });
    const args = ['run', '--source', await repository('app')];
    const databaseUrl = await unreachable();
    for (let n = 0; n < 3; n++) await run(args, { databaseUrl, ...later(n) });
    expect(receiver.titles()).toEqual([TITLE, TITLE]);
  });

  it('is resolved for a channel that received the first message but not the reminder', async () => {
    const args = ['run', '--source', await repository('app')];
    await run(args, { databaseUrl: await unreachable() });
    receiver.answers.push({ status: 403 });
    await run(args, { databaseUrl: await unreachable(), ...later(25) });
    await run(args);
    expect(receiver.titles()).toEqual([TITLE, `Still: ${TITLE}`, `Resolved: ${TITLE}`]);
  });

  it('is reported when there is no run at all', async () => {
    const databaseUrl = await unreachable();
    await expect(run(['run', '--join'], { databaseUrl })).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
    });
    expect(receiver.titles()).toEqual([TITLE]);
  });
});
