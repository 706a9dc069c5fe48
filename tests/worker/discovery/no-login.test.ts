import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startRun } from '../../../lib/records/recording/runs.ts';
import { findClosedPort } from '../../support/down-database.ts';
import { createRepository } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { type AlertReceiver, startAlertReceiver } from '../../support/incidents.ts';
import { type PingServer, startPingServer } from '../../support/ping-server.ts';
import { sql } from '../../support/records.ts';

const database = useDatabase();
const bench = useHostedWorker(database);
let receiver: AlertReceiver;
let heartbeat: PingServer;
beforeEach(async () => {
  receiver = await startAlertReceiver();
  heartbeat = await startPingServer();
});
afterEach(async () => {
  await receiver.close();
  await heartbeat.close();
});

const worker = (args: string[], databaseUrl = database.url) =>
  bench.run({
    ...{ databaseUrl, args },
    env: { ALERT_CHANNELS: receiver.address(), HEARTBEAT_URL: heartbeat.address },
  });
const runs = () => sql(database.db, 'SELECT status, error_message FROM backup_runs ORDER BY id');
const repository = async () => {
  const app = await createRepository(join(bench.folder, 'app'));
  await app.commit({ 'a.txt': 'a' });
  return app.path;
};
const mistake = {
  code: 'UNAUTHORIZED',
  message: expect.stringMatching(
    /^no run: say what to back up with --source, or .*: npm run worker -- login github, or set GIT_TOKEN_PERSONAL or GIT_TOKEN_PRIVATE$/,
  ),
};

describe('run without --source and without a login', () => {
  it.each([[[]], [['--every', '60']], [['--join']], [['--dry-run']]])(
    'is a usage mistake without alerts if nothing was ever discovered: %j',
    async (args) => {
      await worker(['run', '--source', await repository()]);
      const before = { runs: await runs(), pings: [...heartbeat.pings] };
      await expect(worker(['run', ...args])).rejects.toMatchObject(mistake);
      expect({ runs: await runs(), pings: heartbeat.pings }).toEqual(before);
      expect(await sql(database.db, 'SELECT * FROM incidents')).toEqual([]);
      expect(receiver.titles()).toEqual([]);
    },
  );

  it('is a failed run if discovery has worked before, until a run that needs no login', async () => {
    const title = 'The last backup run failed';
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    expect((await worker(['run'])).code).toBe(0);
    await worker(['logout', 'github']);
    expect((await worker(['run'])).code).toBe(4);
    expect(receiver.titles()).toEqual([title]);
    expect(receiver.received[0]?.body).toContain('not logged in to the git host');
    expect(receiver.received[0]?.body).not.toMatch(/refuse|reject/);
    expect(heartbeat.pings.at(-1)).toMatchObject({ what: '/fail' });
    expect((await worker(['run', '--source', await repository()])).code).toBe(0);
    expect(receiver.titles().slice(1)).toEqual([`Resolved: ${title}`]);
  });

  it('is a failed run if the logins cannot be read', async () => {
    const folder = bench.env.BACKUP_CONFIG_DIR ?? '';
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await writeFile(join(folder, 'credentials.json'), 'damaged', { mode: 0o600 });
    expect((await worker(['run'])).code).toBe(1);
    expect(await runs()).toMatchObject([
      { status: 'failed', error_message: expect.stringContaining('credentials.json is not valid') },
    ]);
  });

  it('is a failed run if the database is unreachable, because discovery may have worked before', async () => {
    const unreachable = `postgres://nobody@127.0.0.1:${await findClosedPort()}/none`;
    expect((await worker(['run'], unreachable)).code).toBe(4);
    expect(heartbeat.pings).toMatchObject([{ what: '/fail' }]);
  });

  it('tries to join a run that other workers share', async () => {
    const others = { totalRepos: 0, staleAfterMs: 60_000, abandoned: null, fleetToken: 'token' };
    expect(await startRun(database.db, others)).toHaveProperty('id');
    await expect(worker(['run', '--join'])).rejects.toMatchObject({
      message: expect.stringMatching(/^cannot join run \d+: \S+ is not its archive folder/),
    });
  });
});
