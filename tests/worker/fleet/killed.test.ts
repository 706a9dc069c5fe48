import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { completedRun, eachOnce, killWorker, useFleet } from '../../support/fleet.ts';
import { createRepository } from '../../support/git.ts';
import { startGitServer } from '../../support/git-server.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { rowsOf } from '../../support/worker.ts';

// What becomes of a run whose members are killed or stop.

const database = useDatabase();
const bench = useHostedWorker(database);
const fleet = useFleet(database, bench);

const interrupted = `interrupted by SIGINT (on ${hostname()})`;

describe('a killed worker', () => {
  it.each(['starter', 'joiner'] as const)(
    'leaves its repository as the %s to the other, which ends the run',
    async (which) => {
      const { first, second, release } = await fleet.startTwo();
      const [victim, other] = which === 'starter' ? [first, second] : [second, first];
      await killWorker(victim);
      await fleet.loseLease(which);
      release();
      const { code, stdout, stderr } = await other.finished;
      expect({ code, stdout }, stderr).toEqual({
        code: 0,
        stdout: expect.stringContaining('4 backed up'),
      });
      expect(await fleet.runs()).toEqual([completedRun]);
      expect(await fleet.results()).toEqual(eachOnce);
      expect(await fleet.left()).toEqual([{ jobs: 0, members: 0 }]);
    },
  );

  it('keeps its repository from the others until its lease ends', async () => {
    const { first, second, release } = await fleet.startTwo();
    await killWorker(second);
    release();
    await first.waitFor(/team\/d: archived/);
    const held = `SELECT repository, (lease_until > now())::text AS held FROM run_jobs
      WHERE state = 'open' AND kind = 'repository'`;
    await expect
      .poll(() => rowsOf(database.db, held), { timeout: 120_000 })
      .toEqual([{ repository: 'team/b', held: 'true' }]);
    await fleet.loseLease('joiner');
    expect((await first.finished).code).toBe(0);
    expect(await fleet.results()).toEqual(eachOnce);
  });

  it('continues at once when it is restarted on its machine', async () => {
    const { first, second, release } = await fleet.startTwo();
    await killWorker(second);
    release();
    const again = fleet.start('two');
    expect((await again.finished).code).toBe(0);
    expect((await first.finished).code).toBe(0);
    expect(await fleet.runs()).toEqual([completedRun]);
    expect(await fleet.results()).toEqual(eachOnce);
  });
});

it('a member leaves the run to the others at Ctrl-C', async () => {
  const { first, second, release } = await fleet.startTwo();
  first.child.kill('SIGINT');
  const { code, stdout } = await first.finished;
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringMatching(
      /^Left run \d+ \(interrupted by SIGINT \(on \S+\)\): 0 backed up, /,
    ),
  });
  const third = fleet.start('three', ['--json']);
  await third.waitFor(/takes part in run/);
  third.child.kill('SIGINT');
  const json = await third.finished;
  expect(JSON.parse(json.stdout.trimEnd().split('\n').at(-1) ?? '')).toEqual({
    ...{ event: 'summary', status: 'left', run_id: expect.any(Number), failures: [] },
    ...{ backed_up: expect.any(Number), unchanged: 0, empty: 0, failed: 0, unread_sources: [] },
    error_message: interrupted,
  });
  release();
  expect((await second.finished).code).toBe(0);
  expect(await fleet.runs()).toEqual([completedRun]);
  expect(await fleet.results()).toEqual(eachOnce);
});

it('the only member ends the run at Ctrl-C', async () => {
  const held = fleet.hold('team/a');
  const worker = fleet.start('one');
  await held.came;
  worker.child.kill('SIGINT');
  const { code, stdout } = await worker.finished;
  held.release();
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringContaining(`failed (${interrupted})`),
  });
  expect(await fleet.runs()).toMatchObject([
    { status: 'failed', error_message: interrupted, exclusive_key: null },
  ]);
  expect(await fleet.left()).toEqual([{ jobs: 0, members: 0 }]);
});

it('a repository that only the killed worker could read is reported as failed', async () => {
  const server = await startGitServer();
  const held = server.holdFetch();
  server.serve('own/app.git', join(bench.folder, 'work', 'team', 'a'));
  const first = fleet.start('one', ['--source', `${server.url}/own/app.git`]);
  await held.came;
  const second = fleet.start('two');
  await second.waitFor(/takes part in run/);
  await killWorker(first);
  await fleet.loseLease('starter');
  const { code, stdout } = await second.finished;
  held.release();
  await server.close();
  expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining('1 failed') });
  expect(await rowsOf(database.db, 'SELECT status, error_message FROM backup_results')).toEqual([
    { status: 'failed', error_message: expect.stringContaining('it no longer takes part') },
  ]);
});

describe('a starter that has not listed the repositories', () => {
  /** Starts a git host that does not answer yet, a starter that waits for it, and a second worker. */
  async function startSilentHost() {
    const asked = Promise.withResolvers<ServerResponse>();
    const server = createServer((_, response) => asked.resolve(response)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const first = fleet.start('one', [], { GIT_API_URL: `http://127.0.0.1:${port}` });
    const response = await asked.promise;
    const second = fleet.start('two');
    await second.waitFor(/takes part in run/);
    const close = () => {
      server.closeAllConnections();
      server.close();
    };
    return { first, second, response, close };
  }

  it('ends the run when it is killed, and the waiting workers share another one', async () => {
    const { first, second, close } = await startSilentHost();
    const third = fleet.start('three');
    await third.waitFor(/takes part in run/);
    await killWorker(first);
    close();
    const held = fleet.hold('team/a');
    await fleet.loseLease('starter');
    await held.came;
    const members = `SELECT count(*)::int AS members FROM run_members
      WHERE run_id = (SELECT id FROM backup_runs WHERE status = 'running')`;
    await expect
      .poll(() => rowsOf(database.db, members), { timeout: 120_000 })
      .toEqual([{ members: 2 }]);
    held.release();
    for (const worker of [second, third]) {
      const { code, stdout, stderr } = await worker.finished;
      expect({ code, stdout }, stderr).toEqual({
        code: 0,
        stdout: expect.stringMatching(/^Run \d+ completed: 4 repositories, 4 backed up/),
      });
    }
    expect(await fleet.runs()).toEqual([
      expect.objectContaining({
        ...{ status: 'failed', exclusive_key: null },
        error_message: expect.stringContaining('is gone, and had not listed the repositories'),
      }),
      completedRun,
    ]);
    expect(await fleet.results()).toEqual(eachOnce);
    expect(await fleet.left()).toEqual([{ jobs: 0, members: 0 }]);
  });

  it.each([
    ['', []],
    [', even with sources of its own', ['--source', '.']],
  ])('is replaced at once on its machine when it was killed%s', async (_, args) => {
    const { first, second, close } = await startSilentHost();
    second.child.kill('SIGINT');
    await second.finished;
    await killWorker(first);
    close();
    await createRepository(join(bench.folder, 'one')).then((own) => own.commit({ a: 'a' }));
    const { code, stdout, stderr } = await fleet.start('one', args).finished;
    expect({ code, stdout }, stderr).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Run \d+ completed: /),
    });
    expect(await fleet.runs()).toMatchObject([
      { status: 'failed', exclusive_key: null },
      { status: 'completed' },
    ]);
  });

  it('fails the run with its reason if it cannot list them, for the waiting workers too', async () => {
    const { first, second, response, close } = await startSilentHost();
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"message":"no"}');
    const reason = /^Run \d+ failed \(discovery failed: /;
    expect(await first.finished).toMatchObject({ code: 1, stdout: expect.stringMatching(reason) });
    expect(await second.finished).toMatchObject({ code: 1, stdout: expect.stringMatching(reason) });
    close();
  });
});
