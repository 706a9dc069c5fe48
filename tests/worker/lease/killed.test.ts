import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Database } from '../../../lib/database/database.ts';
import { STALE_RUN_MESSAGE } from '../../../lib/records/runs/stale-runs.ts';
import { takeMachineLease } from '../../../lib/worker/archive/lease/machine-lease.ts';
import { listRefs } from '../../support/git.ts';
import { descendantsOf, ended } from '../../support/processes.ts';
import { runScript, startScript } from '../../support/script.ts';
import { setUpTeamApp } from '../../support/team-app.ts';
import { rowsOf } from '../../support/worker.ts';

const team = setUpTeamApp();
const options = () => ({
  args: ['run', '--source', `${team.server.url}/team/app.git`],
  env: { DATABASE_URL: team.database.url },
  cwd: team.folder,
});
const runs = () =>
  rowsOf(
    team.database.db,
    'SELECT status, error_message, exclusive_key FROM backup_runs ORDER BY id',
  );

/** Kills a worker in the middle of a clone, and waits until its git processes have ended, too. */
async function killWhileCloning(): Promise<void> {
  const held = team.server.holdFetch();
  const worker = startScript('worker', options());
  await held.came;
  const below = await descendantsOf(worker.child.pid ?? 0);
  const pids = below.filter(({ command }) => /^\S*git/.test(command)).map(({ pid }) => pid);
  worker.child.kill('SIGKILL');
  await worker.finished;
  expect(pids.length).toBeGreaterThanOrEqual(2);
  // They end although the host has not answered them.
  await ended(pids);
  held.release();
}

describe.runIf(process.platform === 'linux')('a worker that is killed while it clones', () => {
  it('leaves no git process behind', async () => {
    await killWhileCloning();
  });

  it('is replaced at once by the next worker on this machine', async () => {
    await killWhileCloning();
    expect(await runs()).toMatchObject([{ status: 'running', exclusive_key: 'worker' }]);
    const { code, stdout } = await runScript('worker', options());
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('1 backed up') });
    expect(await runs()).toEqual([
      { status: 'failed', error_message: STALE_RUN_MESSAGE, exclusive_key: null },
      { status: 'completed', error_message: '', exclusive_key: null },
    ]);
    const archives = join(team.folder, '.data', 'archives');
    expect(await listRefs(join(archives, 'team__app.bundle'))).toEqual(
      await listRefs(team.app.path),
    );
    expect((await readdir(archives)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('is not replaced with another DATA_DIR before its heartbeat is three minutes old', async () => {
    await killWhileCloning();
    const other = { ...options().env, DATA_DIR: join(team.folder, 'other') };
    const { code, stdout } = await runScript('worker', { ...options(), env: other });
    expect({ code, stdout }).toEqual({
      code: 75,
      stdout: expect.stringMatching(/^No run: run \d+ is active since/),
    });
  });

  it('does not end a run of the same number in another database', async () => {
    await killWhileCloning();
    await team.database.db.query({
      text: `UPDATE backup_runs SET started_at = started_at - interval '1 microsecond'`,
    });
    expect((await runScript('worker', options())).code).toBe(75);
    expect(await runs()).toMatchObject([{ status: 'running' }]);
  });
});

it('a second worker in a DATA_DIR is refused with exit code 75, whatever its database', async () => {
  const held = team.server.holdFetch();
  const first = team.backUp();
  await held.came;
  await team.database.db.query({ text: `UPDATE backup_runs SET status = 'failed'` });
  expect(await team.backUp()).toMatchObject({
    code: 75,
    stdout: 'No run: another worker is starting, ending, or uses the same DATA_DIR.\n',
  });
  held.release();
  await first;
  expect((await team.backUp()).code).toBe(0);
});

it('a worker reports a DATA_DIR that cannot be used', async () => {
  await writeFile(join(team.folder, 'file'), '');
  const env = { ...options().env, DATA_DIR: join(team.folder, 'file') };
  const ended = await runScript('worker', { ...options(), env });
  expect(ended).toMatchObject({ code: 1, stderr: expect.stringMatching(/^DATA_DIR cannot be /) });
});

it('a worker ends a run that it cannot note, so that the next is not refused', async () => {
  const path = join(team.folder, 'archives-data', 'worker-run.json');
  // Once the run has begun, its note cannot be written.
  const wrap = (db: Database): Database => ({
    ...db,
    async query<Row>(...args: Parameters<Database['query']>) {
      if (args[0].name === 'start_run') await mkdir(path);
      return db.query<Row>(...args);
    },
  });
  await expect(team.backUp({ wrap })).rejects.toThrow('DATA_DIR cannot be written: EISDIR');
  const reason = expect.stringContaining('DATA_DIR cannot be written: EISDIR');
  expect(await runs()).toEqual([{ status: 'failed', error_message: reason, exclusive_key: null }]);
  await rm(path, { recursive: true });
  expect((await team.backUp()).code).toBe(0);
});

describe('a lease', () => {
  const data = () => join(team.folder, 'data');
  const run = { id: 7, startedAt: '2026-01-02T03:04:05.000006Z' };
  const take = async () => {
    const lease = await takeMachineLease(data());
    if ('busy' in lease) throw new Error(lease.reason);
    return lease;
  };

  it('is held by only one process', async () => {
    const lease = await take();
    expect(await takeMachineLease(data())).toMatchObject({ busy: true });
    await lease.release(true);
    await (await take()).release(true);
  });

  it.runIf(process.platform === 'linux')('is refused in a folder that cannot be made', async () => {
    expect(await takeMachineLease('/proc/data/of/ada')).toMatchObject({ busy: false });
  });

  it('reports a run whose end was not recorded, until an end is recorded', async () => {
    const first = await take();
    expect(first.abandoned).toBeNull();
    await first.note(run);
    await first.release(false);
    const second = await take();
    expect(second.abandoned).toEqual(run);
    await second.release(true);
    const third = await take();
    expect(third.abandoned).toBeNull();
    await third.release(true);
  });

  it.each([
    ['of another machine', JSON.stringify({ host: 'elsewhere', id: 7, started_at: 'x' })],
    ['that is damaged', '{"host":'],
    ['of another form', '[]'],
  ])('ignores a note %s', async (_what, text) => {
    await (await take()).release(true);
    await writeFile(join(data(), 'worker-run.json'), text);
    const lease = await take();
    expect(lease.abandoned).toBeNull();
    await lease.release(true);
  });
});
