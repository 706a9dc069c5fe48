import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { readSource } from '../../../lib/config/sources.ts';
import {
  addSource,
  changeSource,
  LOGIN_ID,
  listSources,
} from '../../../lib/records/sources/sources.ts';
import { findClosedPort } from '../../support/down-database.ts';
import { createRepository } from '../../support/git.ts';
import { useDatabase } from '../../support/hooks.ts';
import { useHostedWorker } from '../../support/hosted-worker.ts';
import { rowsOf } from '../../support/worker.ts';

const database = useDatabase();
const bench = useHostedWorker(database);
let git: string;
beforeEach(async () => {
  await database.db.query({ text: 'DELETE FROM backup_run_requests' });
  git = join(bench.folder, 'git');
  for (const name of ['one', 'two']) await repository(name);
});

async function repository(name: string, folder = git): Promise<string> {
  const made = await createRepository(join(folder, name));
  await made.commit({ 'a.txt': name });
  return made.path;
}
const add = async (address: string, exclude: string[] = []) =>
  Number(await addSource(database.db, readSource(address, '/'), { exclude, by: 'ada' }));
const pause = (id: number) => changeSource(database.db, id, { paused: true }, 'ada');
const run = (args: string[] = [], env: Record<string, string> = {}, databaseUrl = database.url) =>
  bench.run({ databaseUrl, args: ['run', ...args], env });
/** The repositories of the last run that were backed up or failed. */
const names = async () =>
  (
    await rowsOf<{ name: string }>(
      database.db,
      `SELECT repo_full_name AS name FROM backup_results
       WHERE run_id = (SELECT max(id) FROM backup_runs) ORDER BY 1`,
    )
  ).map(({ name }) => name);
const lastRun = async () =>
  (
    await rowsOf(
      database.db,
      'SELECT status, failed, unread_sources AS unread FROM backup_runs ORDER BY id DESC LIMIT 1',
    )
  )[0];

describe('a run without --source', () => {
  it('takes added sources, those of BACKUP_SOURCES and what the login discovers, each once', async () => {
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    const other = await repository('three', bench.folder);
    await add(git);
    await add(join(git, 'one'));
    await add(`${bench.host.url}/team/A`);
    const { code } = await run([], { BACKUP_SOURCES: `${other},${git}` });
    expect(code).toBe(0);
    expect(await names()).toEqual(['local/one', 'local/three', 'local/two', 'team/a']);
    const named = 'SELECT repo_full_name AS name, named_by FROM repository_sources ORDER BY 1';
    expect(await rowsOf(database.db, named)).toEqual([
      { name: 'local/one', named_by: join(git, 'one') },
      { name: 'local/three', named_by: other },
      { name: 'local/two', named_by: git },
      { name: 'team/a', named_by: `${new URL(bench.host.url).host}/team/a` },
    ]);
    const coverage = 'SELECT name, plan FROM coverage';
    expect(await rowsOf(database.db, coverage)).toEqual([{ name: 'team/a', plan: 'taken' }]);
  });

  it('needs no login if there is a source, and is a usage mistake otherwise', async () => {
    await expect(run()).rejects.toMatchObject({
      message: expect.stringContaining('npm run worker -- sources add'),
    });
    expect((await run([], { BACKUP_SOURCES: git })).code).toBe(0);
    expect(await names()).toEqual(['local/one', 'local/two']);
    await add(await repository('three', bench.folder));
    expect((await run()).code).toBe(0);
    expect(await names()).toEqual(['local/three']);
  });

  it('leaves out what is paused, and what a pattern of its own source excludes', async () => {
    for (const name of ['a', 'old-b']) await bench.add({ fullName: `team/${name}` });
    await bench.logIn();
    await changeSource(database.db, LOGIN_ID, { exclude: ['team/old-*'] }, 'ada');
    await add(git, ['two']);
    const old = await add(await repository('old-c', bench.folder));
    expect((await run()).code).toBe(0);
    expect(await names()).toEqual(['local/old-c', 'local/one', 'team/a']);
    await pause(old);
    await pause(LOGIN_ID);
    const { code, stderr } = await run();
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(/1 source left out: paused(.|\n)*the login is paused/),
    });
    expect(await rowsOf(database.db, 'SELECT name, plan FROM coverage ORDER BY 1')).toEqual([
      { name: 'team/a', plan: 'taken' },
      { name: 'team/old-b', plan: 'excluded' },
    ]);
  });

  it('backs up the other sources if one cannot be read, which is its error', async () => {
    await add(git);
    const gone = await add(join(bench.folder, 'typo'));
    const { code } = await run();
    expect(code).toBe(1);
    expect(await names()).toEqual(['local/one', 'local/two']);
    expect(await lastRun()).toMatchObject({
      status: 'completed',
      failed: 0,
      unread: { [join(bench.folder, 'typo')]: expect.stringContaining('there is no folder') },
    });
    await pause(gone);
    expect((await run()).code).toBe(0);
  });

  it('backs up the other sources without the login that it had, which is its error', async () => {
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    expect((await run()).code).toBe(0);
    await bench.run({ databaseUrl: database.url, args: ['logout', 'github'] });
    await add(git);
    expect((await run()).code).toBe(4);
    expect(await names()).toEqual(['local/one', 'local/two']);
    expect(await lastRun()).toMatchObject({
      status: 'completed',
      failed: 0,
      unread: { [bench.host.url]: expect.stringContaining('not logged in to the git host') },
    });
    await pause(LOGIN_ID);
    expect((await run()).code).toBe(0);
  });

  it('reports a repository that vanishes from a folder as lost, as with --source', async () => {
    await add(git);
    await run();
    await rm(join(git, 'two'), { recursive: true });
    expect((await run()).code).toBe(1);
    expect(await names()).toEqual(['local/two']);
  });

  it('does not miss a repository that was discovered once, and is only named now', async () => {
    await bench.add({ fullName: 'team/a' });
    const b = await bench.add({ fullName: 'team/b' });
    await bench.logIn();
    expect((await run()).code).toBe(0);
    for (const { repositories } of bench.host.state.installations) {
      repositories.splice(repositories.indexOf('team/b'), 1);
    }
    await add(`${bench.host.url}/team/b`);
    await b.commit({ 'b.txt': 'b' });
    const missing = 'SELECT kind FROM anomalies WHERE repo_full_name IS NULL';
    await run();
    expect(await rowsOf(database.db, missing)).toEqual([]);
    expect(await names()).not.toContain('team/b--');
  });

  it('fulfils a request for everything, without what is paused or was never read', async () => {
    await add(git);
    const paused = await add(await repository('three', bench.folder));
    await run();
    await add(join(bench.folder, 'typo'));
    await pause(paused);
    await database.db.query({ text: "INSERT INTO backup_run_requests (target_repo) VALUES ('')" });
    await run();
    const requests = 'SELECT status FROM backup_run_requests';
    expect(await rowsOf(database.db, requests)).toEqual([{ status: 'completed' }]);
  });

  it('takes the sources that it knew if the database is unreachable', async () => {
    await add(git);
    expect((await run()).code).toBe(0);
    const away = `postgres://nobody@127.0.0.1:${await findClosedPort()}/none`;
    await repository('new');
    const { code, stdout } = await run([], {}, away);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('3 repositories, 1 backed up, 2 unchanged'),
    });
  });

  it('joins no run of others with sources of its own', async () => {
    await add(git);
    const { code, stdout } = await run(['--join']);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining('2 repositories, 2 backed up'),
    });
  });

  it('lists in a dry run what it would do', async () => {
    await add(git, ['two']);
    const { code, stdout } = await run(['--dry-run']);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: expect.stringContaining(`local/two: left out: excluded by the pattern two of ${git}`),
    });
    expect(stdout).toContain('local/one: would be backed up');
  });
});

describe('run --source-id', () => {
  it('takes only these sources', async () => {
    await bench.add({ fullName: 'team/a' });
    await bench.logIn();
    const folder = await add(git);
    await add(await repository('three', bench.folder));
    await run(['--source-id', `${folder}`]);
    expect(await names()).toEqual(['local/one', 'local/two']);
    await run(['--source-id', `${LOGIN_ID}`]);
    expect(await names()).toEqual(['team/a']);
  });

  it('takes a source of BACKUP_SOURCES by the id that it is listed with', async () => {
    const other = await repository('three', bench.folder);
    const configured = [readSource(other, '/')];
    const [, { id } = { id: 0 }] = await listSources(database.db, configured);
    await add(git);
    await run([`--source-id=${id}`], { BACKUP_SOURCES: other });
    expect(await names()).toEqual(['local/three']);
  });

  it('warns of a source that is gone, and fails if none is left', async () => {
    const folder = await add(git);
    const { code, stderr } = await run(['--source-id', `${folder}`, '--source-id', '999']);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining('there is no source 999 any more'),
    });
    const none = await run(['--source-id', '999']);
    expect(none).toMatchObject({ code: 1, stdout: expect.stringContaining('none of the sources') });
  });
});
