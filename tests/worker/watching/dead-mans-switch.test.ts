import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../lib/clock.ts';
import { startRun } from '../../../lib/records/recording/runs.ts';
import { RunStopped } from '../../../lib/worker/base/stop.ts';
import { createRepository } from '../../support/git.ts';
import { startGitServer } from '../../support/git-server.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { type PingServer, startPingServer } from '../../support/ping-server.ts';
import { callWorker } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);
let server: PingServer;
beforeEach(async () => {
  server = await startPingServer();
});
afterEach(() => server.close());

const run = async (sources: string[] | null = null, more: { signal?: AbortSignal } = {}) => {
  const args = ['run', ...(sources ?? []).flatMap((source) => ['--source', source])];
  const env = { HEARTBEAT_URL: server.address };
  const done = await bench.run({ databaseUrl: database.url, args, env, ...more });
  expect(done.stdout + done.stderr).not.toContain(new URL(server.address).pathname);
  return done;
};
const pinged = () => server.pings.map(({ what }) => what);
const repository = async (name: string) => {
  const app = await createRepository(join(bench.folder, name));
  await app.commit({ 'a.txt': 'a' });
  return app.path;
};

describe('HEARTBEAT_URL', () => {
  it('is pinged at the start and the success of a run, with the same id', async () => {
    expect((await run([await repository('app')])).code).toBe(0);
    expect(server.pings).toEqual([
      { what: '/start', rid: expect.stringMatching(/^[0-9a-f-]{36}$/), text: '' },
      { what: '', rid: server.pings[0]?.rid, text: expect.stringContaining('1 backed up') },
    ]);
    await run([await repository('app')]);
    expect(pinged()).toEqual(['/start', '', '/start', '']);
    expect(server.pings[2]?.rid).not.toBe(server.pings[0]?.rid);
  });

  it('is pinged with a failure and its reason if one of many sources cannot be read', async () => {
    const { code } = await run([await repository('app'), join(bench.folder, 'nothing')]);
    expect(code).toBe(1);
    expect(pinged()).toEqual(['/start', '/fail']);
    expect(server.pings[1]?.text).toContain('not found, or access lost: /');
    expect(server.pings[1]?.text).toMatch(/1 backed up, .*0 failed, 1 source not read/);
  });

  it('gets no success ping if the login is refused', async () => {
    await bench.add({ fullName: 'team/a', private: true });
    const token = await bench.logIn();
    bench.host.state.tokens.delete(token);
    expect((await run()).code).toBe(4);
    expect(pinged()).toEqual(['/fail']);
    expect(server.pings[0]?.text).toContain('discovery failed');
    expect(server.pings[0]?.text).not.toContain(token);
  });

  it('gets no success ping if no repository is selected', async () => {
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    const env = { HEARTBEAT_URL: server.address, BACKUP_EXCLUDE: '*' };
    expect((await bench.run({ databaseUrl: database.url, env })).code).toBe(1);
    expect(pinged()).toEqual(['/fail']);
    expect(server.pings[0]?.text).toContain('0 repositories');
  });

  it('gets no ping for a run that is refused because of another one', async () => {
    const active = { totalRepos: 1, staleAfterMs: 60_000, abandoned: null };
    expect(await startRun(database.db, active)).toHaveProperty('id');
    expect((await run([await repository('app')])).code).toBe(75);
    expect(pinged()).toEqual([]);
  });

  it('is pinged with the reason why a run could not start', async () => {
    const args = ['run', '--join'];
    const call = callWorker({
      ...{ databaseUrl: 'postgres://localhost:1/none', archives: bench.archives, args },
      env: { HEARTBEAT_URL: server.address },
    });
    await expect(call).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    expect(pinged()).toEqual(['/fail']);
    expect(server.pings[0]?.text).toMatch(/^No run: the database is unreachable/);
  });

  it('is pinged again after an error, and does not fail a run if it never answers', async () => {
    // Does not wait between attempts.
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal) => (ms < 6_000 ? Promise.resolve() : systemClock.sleep(ms, signal)),
    };
    const env = { HEARTBEAT_URL: server.address };
    const args = ['run', '--source', await repository('app')];
    server.answers.push(500, 200, 429, 503, 200);
    const first = await bench.run({ databaseUrl: database.url, args, env, clock });
    expect(first).toMatchObject({ code: 0, stderr: expect.not.stringContaining('HEARTBEAT_URL') });
    expect(pinged()).toEqual(['/start', '/start', '', '', '']);
    server.answers.push(200, 301, 404, 500);
    const second = await bench.run({ databaseUrl: database.url, args, env, clock });
    expect(second).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(
        'HEARTBEAT_URL was not notified of this run: it answered 500',
      ),
    });
    await server.close();
    const third = await bench.run({ databaseUrl: database.url, args, env, clock });
    expect(third).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('it cannot be reached (ECONNREFUSED)'),
    });
    server = await startPingServer();
  });

  it.each([
    ['', []],
    [' while the start ping is not answered yet', [0]],
  ])('is pinged when a run is interrupted%s', async (_, answers) => {
    server.answers.push(...answers);
    const source = await startGitServer();
    source.serve('team/app.git', await repository('app'));
    const held = source.holdFetch();
    const stopping = new AbortController();
    const running = run([`${source.url}/team/app.git`], { signal: stopping.signal });
    await held.came;
    stopping.abort(new RunStopped('interrupted by SIGINT'));
    const { code, stderr } = await running;
    expect(code).toBe(1);
    // The waiting ping was aborted, not awaited.
    const untold = 'HEARTBEAT_URL was not notified of this run: interrupted by SIGINT';
    expect(stderr.includes(untold)).toBe(answers.length > 0);
    held.release();
    await source.close();
    expect(pinged().at(0)).toBe('/start');
    expect(pinged().at(-1)).toBe('/fail');
    expect(server.pings.at(-1)?.text).toContain('interrupted by SIGINT');
  });
});
