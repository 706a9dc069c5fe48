import { mkdir, readdir, rename, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { useEmptyLedger } from '../support/drills.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { createRepository } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty } from '../support/records.ts';
import { callWorker, rowsOf } from '../support/worker.ts';

const database = useDatabase();
const folder = useTemporaryFolder();
const archives = join(folder, 'archives');

useEmptyLedger(database);

beforeEach(() => empty(database.db));

async function create(...names: string[]): Promise<void> {
  for (const name of names) {
    const repository = await createRepository(join(folder, name));
    await repository.commit({ 'a.txt': name });
  }
}
const call = (args: string[], env: Record<string, string> = {}) =>
  callWorker({ databaseUrl: database.url, archives, folder, args, env });
const run = (...sources: string[]) =>
  call(['run', ...sources.flatMap((source) => ['--source', source])]);
const client = () => createClient({ db: database.db, clock: createTestClock(Date.now()) });
interface Shown {
  state: string;
  archive: { state: string; copies: number };
  last_good_version: number | null;
}
const shown = async (name: string) =>
  (await client().get(`/api/repos/local/${name}`)).body as Shown;
const remove = (...names: string[]) =>
  Promise.all(names.map((name) => rm(join(archives, name), { recursive: true, force: true })));
const removeArchive = (name: string) =>
  remove(...['.bundle', '.bundle.json', '.versions'].map((suffix) => `local__${name}${suffix}`));
interface Incident {
  rule: string;
  severity: string;
  summary: string;
  repositories: { name: string; reason: string }[];
}
const incidents = async () => {
  await client().post('/api/cron/sweep-stale-runs', undefined);
  const { body } = await client().get('/api/incidents?state=open');
  return (body as { data: Incident[] }).data;
};

describe('an archive that is gone', () => {
  it('is told in the next run, whether its source is lost, left out, or forgotten', async () => {
    await create('a', 'b', 'c', 'd');
    await run('a', 'b', 'c', 'd');
    expect((await call(['forget', 'local/d'])).stdout).toContain('Its backups are kept.');
    await rename(join(folder, 'b'), join(folder, 'away'));
    for (const name of ['b', 'c', 'd']) await removeArchive(name);
    const { code, stdout, stderr } = await run('a', 'b');
    expect(code).toBe(1);
    expect(stdout).toContain('2 archives of other repositories lost');
    for (const name of ['b', 'c', 'd']) {
      expect(stderr).toContain(`local__${name}.bundle is missing`);
      expect(await shown(name)).toMatchObject({
        ...{ state: 'gone', archive: { state: 'missing', copies: 0 }, last_good_version: null },
      });
    }
    expect(await shown('a')).toMatchObject({ state: 'good', archive: { state: 'there' } });
    const [first, ...others] = await incidents();
    expect(others).toEqual([]);
    expect(first).toMatchObject({ rule: 'archive_lost', severity: 'critical' });
    expect(first?.repositories.map(({ name }) => name)).toEqual(['local/b', 'local/c', 'local/d']);
    expect(first?.repositories[0]?.reason).toContain('nothing is kept');
    expect(
      (await client().get('/api/evidence?from=2020-01-01&to=2100-01-01&format=markdown')).text,
    ).toContain('Repositories that are backed up: 1,');
  });

  it('is made again while its source exists, and the loss is told until the next run', async () => {
    await create('a', 'b');
    await run('a', 'b');
    await removeArchive('a');
    expect((await run('a', 'b')).code).toBe(1);
    expect(await shown('a')).toMatchObject({ archive: { state: 'there' } });
    expect((await incidents()).map(({ rule }) => rule)).toEqual(['archive_lost']);
    expect((await run('a', 'b')).code).toBe(0);
    expect(await incidents()).toEqual([]);
  });

  it.each([
    ['its bundle', 'missing', () => remove('local__a.bundle')],
    ['the manifest of its newest version', 'incomplete', () => remove('local__a.versions')],
    [
      'all but the start of its bundle',
      'missing',
      () => truncate(join(archives, 'local__a.bundle'), 10),
    ],
  ])('is one that lacks %s', async (_, archiveState, damage) => {
    await create('a', 'b');
    await run('a', 'b');
    await damage();
    expect((await run('b')).code).toBe(1);
    expect(await shown('a')).toMatchObject({ state: 'gone', archive: { state: archiveState } });
    const kept = archiveState === 'incomplete' ? 'other files are kept' : 'nothing is kept';
    expect((await incidents())[0]?.repositories[0]?.reason).toContain(kept);
    const forgotten = await call(['forget', 'local/a']);
    expect(forgotten.stdout).toContain(kept);
    expect(forgotten.code).toBe(archiveState === 'incomplete' ? 0 : 1);
  });

  it('is gone although its bundle is named like an increment', async () => {
    await create('a.1', 'b');
    await run('a.1', 'b');
    await remove('local__a.1.bundle');
    expect((await run('b')).code).toBe(1);
    expect(await shown('a.1')).toMatchObject({ state: 'gone', archive: { state: 'missing' } });
    expect((await incidents())[0]?.repositories[0]?.reason).toContain('nothing is kept');
    expect((await call(['forget', 'local/a.1'])).stdout).toContain('nothing is kept');
  });

  it('fails its repository while the manifest of a version is missing, although nothing changed', async () => {
    await create('a', 'b');
    await run('a', 'b');
    const manifest = join(archives, 'local__a.versions/1.json');
    const away = join(folder, 'manifest-away');
    await rename(manifest, away);
    for (const budget of ['0', '2']) {
      const failed = await call(['run', '--source', 'a'], { VERIFY_BUDGET_MINUTES: budget });
      expect(failed.code).toBe(1);
      expect(failed.stderr).toContain('the manifest of version 1 is missing or was altered');
    }
    expect(await shown('a')).toMatchObject({ state: 'gone', archive: { state: 'incomplete' } });
    await rename(away, manifest);
    expect((await run('a')).code).toBe(0);
    expect(await shown('a')).toMatchObject({ state: 'good', archive: { state: 'there' } });
  });

  it('is drilled at once when it is there again', async () => {
    await create('a', 'b');
    await run('a', 'b');
    const away = join(folder, 'bundle-away');
    await rename(join(archives, 'local__a.bundle'), away);
    const drilled = (...sources: string[]) =>
      call(['run', ...sources.flatMap((source) => ['--source', source])], {
        DRILL_BUDGET_MINUTES: '5',
      });
    expect((await drilled('b')).stderr).toContain('restore drill: FAILED: local/a');
    await rename(away, join(archives, 'local__a.bundle'));
    expect((await drilled('a')).stderr).toContain('restore drill: proven: local/a');
    expect(await incidents()).toEqual([]);
    await call(['forget', 'local/a']);
    await rename(join(archives, 'local__a.bundle'), away);
    expect((await drilled('b')).stderr).toContain('restore drill: FAILED: local/a');
    await rename(away, join(archives, 'local__a.bundle'));
    expect((await drilled('b')).stderr).toContain('restore drill: proven: local/a');
  });

  it('is drilled at once when it was made again', async () => {
    await create('a', 'b');
    await run('a', 'b');
    await remove('local__a.versions');
    const failed = await call(['drill', '--repo', 'local/a']);
    expect(failed.stdout).toContain('the manifest of version 1, is missing');
    await removeArchive('a');
    await run('a');
    const { stdout } = await call(['drill', '--budget', '5']);
    expect(stdout).toContain('proven: local/a');
  });

  it('is one that lacks an increment', async () => {
    await create('b');
    const app = await createRepository(join(folder, 'a'));
    await app.commit({ 'a.txt': 'one' });
    const env = { BACKUP_INCREMENTS_FROM_MIB: '0' };
    const both = ['run', '--source', 'a', '--source', 'b'];
    await call(both, env);
    await app.commit({ 'a.txt': 'two' });
    await call(both, env);
    await remove('local__a.1.bundle');
    expect((await run('b')).stderr).toContain('local__a.1.bundle is missing');
  });

  it('is not gone any more once it is back', async () => {
    await create('a', 'b');
    await run('a', 'b');
    await rename(join(archives, 'local__a.bundle'), join(folder, 'kept'));
    await run('b');
    await rename(join(folder, 'kept'), join(archives, 'local__a.bundle'));
    expect((await run('a', 'b')).code).toBe(0);
    expect(await shown('a')).toMatchObject({ state: 'good', archive: { state: 'there' } });
    expect(await incidents()).toEqual([]);
  });

  it('is restorable from a store that has a copy, and the incident says so', async () => {
    await create('a', 'b');
    const store = `file://${join(folder, 'store')}`;
    await mkdir(join(folder, 'store'));
    const env = { BACKUP_STORES: store };
    await call(['run', '--source', 'a', '--source', 'b'], env);
    await removeArchive('a');
    expect((await call(['run', '--source', 'b'], env)).stderr).toContain(
      `npm run worker -- restore local/a --from ${store}`,
    );
    expect(await shown('a')).toMatchObject({
      ...{ archive: { state: 'missing', copies: 1 }, last_good_version: 1 },
    });
    expect((await shown('a')).state).not.toBe('gone');
    const [first] = await incidents();
    expect(first?.repositories).toMatchObject([
      { reason: expect.stringContaining(`${store} has version 1`) },
    ]);
    expect((await call(['forget', 'local/a'], env)).stdout).toContain(`A copy is in ${store}`);
  });

  it('is gone for good once the store has lost its copy, too', async () => {
    await create('a', 'b');
    const store = join(folder, 'lossy');
    await mkdir(store);
    const env = { BACKUP_STORES: `file://${store}` };
    await call(['run', '--source', 'a', '--source', 'b'], env);
    await removeArchive('a');
    const objects = join(store, 'archives/local__a/objects');
    for (const name of await readdir(objects)) await rm(join(objects, name));
    await call(['run', '--source', 'b'], env);
    expect(await shown('a')).toMatchObject({ state: 'gone', archive: { copies: 0 } });
    const reasons = (await incidents()).flatMap(({ repositories }) => repositories);
    expect(reasons.map(({ reason }) => reason).sort()).toEqual([
      expect.stringContaining('is missing or damaged'),
      expect.stringContaining('nothing is kept'),
    ]);
    expect((await call(['forget', 'local/a'], env)).code).toBe(1);
    // The archive is made again, and then stored.
    for (const _ of [1, 2]) await call(['run', '--source', 'a', '--source', 'b'], env);
    expect(await shown('a')).toMatchObject({ archive: { state: 'there', copies: 1 } });
  });

  it('goes first among the restore drills', async () => {
    await create('a', 'b', 'c');
    const drilled = { DRILL_BUDGET_MINUTES: '5' };
    await call(['run', '--source', 'a', '--source', 'b', '--source', 'c'], drilled);
    await rm(join(folder, 'b'), { recursive: true });
    await removeArchive('b');
    await call(['run', '--source', 'a', '--source', 'b', '--source', 'c'], drilled);
    expect(
      await rowsOf(
        database.db,
        "SELECT repository_name, outcome FROM restore_drills WHERE outcome <> 'proven'",
      ),
    ).toEqual([{ repository_name: 'local/b', outcome: 'failed' }]);
  });
});

describe('an archive folder without any of its archives', () => {
  it('is one incident, and the run writes nothing', async () => {
    await create('a', 'b', 'c');
    await run('a', 'b', 'c');
    await rename(archives, `${archives}-away`);
    const { code, stdout } = await run('a', 'b', 'c');
    expect(code).toBe(1);
    expect(stdout).toContain('has none of its 3 archives: is its disk mounted');
    const open = await incidents();
    expect(open).toMatchObject([
      { rule: 'archive_lost', summary: expect.stringContaining('None of the 3 archives') },
    ]);
    expect(await rowsOf(database.db, 'SELECT 1 FROM restore_drills')).toEqual([]);

    await rm(archives, { recursive: true });
    await rename(`${archives}-away`, archives);
    expect((await run('a', 'b', 'c')).code).toBe(0);
    expect(await incidents()).toEqual([]);
  });

  it('is used if the user says that the archives are gone for good', async () => {
    await create('a', 'b');
    await run('a', 'b');
    await rm(archives, { recursive: true });
    const anew = await call(['run', '--source', 'a', '--source', 'b', '--new-folder']);
    expect(anew.stderr).toContain('the archive is gone');
    expect(anew.code).toBe(0);
    expect((await run('a', 'b')).code).toBe(0);
    expect(await shown('a')).toMatchObject({ state: 'good', archive: { state: 'there' } });
  });

  it('is used after a refused run, and what it does not make again is still a failure', async () => {
    await create('a', 'b', 'c');
    await run('a', 'b', 'c');
    await rm(archives, { recursive: true });
    expect((await run('a', 'b')).code).toBe(1);
    const anew = await call(['run', '--source', 'a', '--source', 'b', '--new-folder']);
    expect(anew.stderr).toContain('local__c.bundle is missing');
    expect(anew.code).toBe(1);
    expect(await shown('c')).toMatchObject({ state: 'gone', archive: { state: 'missing' } });
    expect((await incidents()).map(({ rule }) => rule)).toContain('archive_lost');
  });
});

describe('forgetting a repository of which nothing is kept', () => {
  it('has to be confirmed, also if the archive went after the last run', async () => {
    await create('a', 'b');
    await run('a', 'b');
    await removeArchive('a');
    const refused = await call(['forget', 'local/a']);
    expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining('nothing is kept') });
    expect(refused.stdout).toContain('npm run worker -- forget local/a --nothing-kept');
    await run('b');
    const post = (query = '') => client().post(`/api/repos/local/a/forget${query}`, undefined);
    expect(
      await client().post('/api/repos/forget', { names: ['local/a', 'LOCAL/b'], dry_run: true }),
    ).toMatchObject({
      status: 200,
      body: {
        data: [
          { outcome: 'nothing_kept', detail: expect.stringContaining('is missing') },
          { outcome: 'forgotten', is_kept: true, detail: 'Its backups are kept.' },
        ],
      },
    });
    expect(await post()).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('nothing is kept') },
    });
    expect(await post('?nothing_kept=true')).toMatchObject({ status: 200 });
    // The loss is known now.
    expect(await incidents()).toEqual([]);
    expect((await run('b')).code).toBe(0);
  });

  it('includes one that was never backed up, of an earlier release, and many at once', async () => {
    await create('a');
    await run('a');
    await database.db.query({
      text: `INSERT INTO backup_results (run_id, repo_full_name, status, error_message)
        SELECT 1, name, 'failed', 'there is no folder' FROM unnest(ARRAY['local/*', 'local/x y', 'local/xx']) AS name`,
    });
    const star = await call(['forget', 'local/*']);
    expect(star).toMatchObject({
      code: 1,
      stdout: expect.stringContaining("forget 'local/*' --nothing-kept"),
    });
    expect(await shown('a')).toMatchObject({ forgotten: null });
    const { code, stdout } = await call(['forget', '--never', '--nothing-kept']);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining("forget 'local/x y' --undo"),
    });
    expect(stdout.match(/^Forgot /gm)).toHaveLength(3);
    const undone = (await call(['forget', 'local/x*', '--undo'])).stdout.trim().split('\n');
    expect(undone.sort()).toEqual(['local/x y is tracked again.', 'local/xx is tracked again.']);
  });
});

describe('a folder as a source', () => {
  const inFolder = () =>
    rowsOf<{ name: string; status: string }>(
      database.db,
      `SELECT repo_full_name AS name, status FROM backup_results
       WHERE run_id = (SELECT max(id) FROM backup_runs) ORDER BY 1`,
    );

  it('stands for the repositories in it, and one that vanishes is lost', async () => {
    await create('git/a', 'git/b');
    await mkdir(join(folder, 'git/notes'), { recursive: true });
    const { code, stderr } = await run('git');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining(`the folder ${join(folder, 'git')} holds 2 repositories`),
    });
    expect((await inFolder()).map(({ name }) => name)).toEqual(['local/a', 'local/b']);
    await rename(join(folder, 'git/b'), join(folder, 'elsewhere'));
    const without = await run('git');
    expect(without.code).toBe(1);
    expect(without.stderr).toContain(
      'holds 1 repository, and each is backed up by itself; 1 more is gone',
    );
    expect(await shown('b')).toMatchObject({ state: 'lost', archive: { state: 'there' } });
    await rename(join(folder, 'git'), join(folder, 'unmounted'));
    expect((await run('git')).code).toBe(1);
    expect(await inFolder()).toEqual([
      { name: 'local/a', status: 'failed' },
      { name: 'local/b', status: 'failed' },
    ]);
    await rename(join(folder, 'unmounted'), join(folder, 'git'));
    await call(['forget', 'local/b']);
    expect((await run('git')).code).toBe(0);
  });
});
