import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createArchiveReader } from '../../lib/archives/archives.ts';
import { archiveKey } from '../../lib/archives/base/archive-name.ts';
import { findRecordedArchive } from '../../lib/records/recorded-archive.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';
import { createTestClock } from '../support/clock.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { createRepository } from '../support/git.ts';
import { type GitServer, startGitServer } from '../support/git-server.ts';
import { useDatabase } from '../support/hooks.ts';
import { callWorker, rowsOf } from '../support/worker.ts';

// `a__b/c` and `a/b__c` have archives of the same file name, and so have `x_/y` and `x/_y`.

const database = useDatabase();
const folder = useTemporaryFolder();
const archives = join(folder, 'archives');
const store = `file://${join(folder, 'store')}`;
let server: GitServer;
let restored = 0;

const call = (...args: string[]) =>
  callWorker({ databaseUrl: database.url, archives, args, folder });

beforeAll(async () => {
  server = await startGitServer();
});
afterAll(() => server.close());

/** Backs up repositories of the git host, each with a file that holds its name. Returns what was printed. */
async function backUp(names: string[], env: Record<string, string> = {}): Promise<string> {
  const args = ['run'];
  for (const name of names) {
    const repository = await createRepository(join(folder, 'sources', name));
    await repository.commit({ 'name.txt': name });
    server.serve(`${name}.git`, repository.path);
    args.push('--source', `${server.url}/${name}.git`);
  }
  const ran = await callWorker({ databaseUrl: database.url, archives, args, folder, env });
  expect(ran.code, ran.stderr).toBe(0);
  return ran.stderr;
}

/** Restores a repository, and returns its name according to its file. */
async function restore(name: string, ...more: string[]): Promise<string> {
  const to = join(folder, `restored-${restored++}`);
  const { code } = await call('restore', name, '--to', to, ...more);
  expect(code).toBe(0);
  return readFile(join(to, 'name.txt'), 'utf8');
}

/** Calls the tools that read archives, with the database. */
const reader = () =>
  createArchiveReader({
    root: archives,
    scratchFolder: folder,
    environment: { PATH: process.env.PATH },
    clock: createTestClock(),
    findRecord: (name) => findRecordedArchive(database.db, name),
    redactor: createRedactor([]),
  });
const anyCall = { signal: new AbortController().signal };
const verify = (name: string) => reader().verify(name, anyCall);

async function listed(): Promise<string[]> {
  const { stdout } = await call('versions', '--json');
  return (JSON.parse(stdout) as { repository: string }[]).map(({ repository }) => repository);
}

describe.each([
  { first: 'a__b/c', second: 'a/b__c', file: 'a__b__c.bundle' },
  { first: 'x_/y', second: 'x/_y', file: 'x___y.bundle' },
])('$first and $second', ({ first, second, file }) => {
  /** The second is backed up under another name. */
  async function backUpBoth(env?: Record<string, string>): Promise<string> {
    const printed = await backUp([first, second], env);
    const name = new RegExp(`backed up as (${second}--[0-9a-f]{8}): `).exec(printed)?.[1];
    if (name === undefined) throw new Error(printed);
    return name;
  }

  it('are listed and restored under their own names only', async () => {
    const renamed = await backUpBoth();
    expect((await listed()).sort()).toEqual([first, renamed].sort());
    expect(await restore(first.toUpperCase())).toBe(first);
    expect(await restore(renamed)).toBe(second);
    const missing = `there is no archive of ${second} in the archive folder: ${file} is the archive of ${first}; ${archiveKey(renamed)} is the archive of ${renamed}, which was read from ${server.url}/${second}.git`;
    await expect(restore(second)).rejects.toMatchObject({ code: 'NOT_FOUND', message: missing });
    await expect(call('versions', second)).rejects.toThrow(missing);
    await expect(call('drill', '--repo', second)).rejects.toThrow(missing);
    const json = JSON.parse((await call('versions', renamed, '--json')).stdout);
    expect(json.source).toBe(`${server.url}/${second}.git`);
    for (const args of [['versions'], ['versions', first]]) {
      expect((await call(...args)).stdout).toContain(`${server.url}/${first}.git`);
    }
    const all = join(folder, 'all');
    expect((await call('restore', '--all', '--to', all)).code).toBe(0);
    expect(await readFile(join(all, first, 'name.txt'), 'utf8')).toBe(first);
    expect(await readFile(join(all, renamed, 'name.txt'), 'utf8')).toBe(second);
  });

  it('are verified, inspected and extracted under their own names only', async () => {
    const renamed = await backUpBoth();
    expect(await verify(first)).toMatchObject({ archive: file, repository: first });
    expect(await verify(renamed)).toMatchObject({ repository: renamed });
    const refused = { code: 'NOT_FOUND', message: expect.stringContaining(`is the archive of`) };
    await expect(verify(second)).rejects.toMatchObject(refused);
    await expect(reader().inspect(second, { limit: 9 }, anyCall)).rejects.toMatchObject(refused);
    const extracting = reader().extract(second, 'name.txt', {}, anyCall);
    await expect(extracting).rejects.toMatchObject(refused);
  });

  it('are told apart by their manifests if the notes do not say it', async () => {
    await backUpBoth();
    const path = join(archives, `${file}.json`);
    const { repository, ...note } = JSON.parse(await readFile(path, 'utf8'));
    expect(repository).toBe(first);
    await writeFile(path, JSON.stringify(note));
    expect(await listed()).toContain(first);
    expect(await restore(first)).toBe(first);
    await expect(restore(second)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await rm(path);
    expect(await listed()).toContain(first);
    await expect(verify(second)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('are told apart by the address in the note of an earlier release', async () => {
    await backUpBoth();
    const path = join(archives, `${file}.json`);
    const { repository: _, ...note } = JSON.parse(await readFile(path, 'utf8'));
    await writeFile(path, JSON.stringify({ ...note, versions: [] }));
    await rm(join(archives, file.replace('.bundle', '.versions')), { recursive: true });
    expect(await listed()).toContain(first);
    expect(await restore(first)).toBe(first);
    await expect(restore(second)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('are both named if only the database can tell them apart', async () => {
    const renamed = await backUpBoth();
    await rm(join(archives, `${file}.json`));
    await rm(join(archives, file.replace('.bundle', '.versions')), { recursive: true });
    const unknown = new RegExp(
      `^${file} may be of (${first} or ${second}|${second} or ${first}), `,
    );
    for (const name of [first, second]) {
      await expect(restore(name)).rejects.toMatchObject({ code: 'CONFLICT', message: unknown });
      await expect(call('versions', name)).rejects.toThrow(unknown);
    }
    const { stdout } = await call('versions');
    expect(stdout).toMatch(
      new RegExp(`^${file}: may be of .*nothing says whose archive it is`, 'm'),
    );
    expect(await listed()).toContain(null);
    const all = await call('restore', '--all', '--to', join(folder, 'all'));
    expect(all).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('Restored 1 of 1 repositories'),
      stderr: expect.stringContaining(`not restored: ${file}: may be of`),
    });
    // With the database.
    expect(await verify(first)).toMatchObject({ archive: file, resolved_by: 'worker_repo_state' });
    await expect(verify(second)).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining(renamed),
    });
    expect(await call('drill', '--repo', first)).toMatchObject({ code: 0 });
    await database.db.query({ text: 'DELETE FROM worker_repo_state' });
    await expect(verify(first)).rejects.toMatchObject({ code: 'CONFLICT', message: unknown });
  });

  it('are restored from a store under their own names only', async () => {
    await mkdir(join(folder, 'store'));
    await mkdir(join(folder, 'copied'));
    const renamed = await backUpBoth({ BACKUP_STORES: store });
    const { stdout } = await call('restore', '--from', store, '--list');
    expect(stdout.split('\n').map((line) => line.split(' ')[0])).toEqual(
      expect.arrayContaining([first, renamed]),
    );
    expect(await restore(first, '--from', store)).toBe(first);
    expect(await restore(renamed, '--from', store)).toBe(second);
    const missing = `${store} has no archive of ${second}: the one with its file name is of ${first}`;
    await expect(restore(second, '--from', store)).rejects.toThrow(missing);
    await expect(call('restore', second, '--from', store, '--list')).rejects.toThrow(missing);
    const checked = await call('store', 'check', '--store', store, '--repo', second);
    expect(checked).toMatchObject({ code: 1, stdout: expect.stringContaining(missing) });
    const copied = `file://${join(folder, 'copied')}`;
    const copy = (name: string) => call('store', 'copy', store, copied, '--repo', name);
    await expect(copy(second)).rejects.toThrow(`has no archive of ${second}`);
    expect(await copy(first)).toMatchObject({ code: 0 });
  });
});

it('a manifest of another repository is a fault of the archive', async () => {
  await backUp(['team/app', 'team/other']);
  const noteOf = (name: string) => join(archives, `team__${name}.bundle.json`);
  const own = JSON.parse(await readFile(noteOf('app'), 'utf8'));
  const other = JSON.parse(await readFile(noteOf('other'), 'utf8'));
  await rename(join(archives, 'team__other.bundle'), join(archives, 'team__app.bundle'));
  await rename(
    join(archives, 'team__other.versions', '1.json'),
    join(archives, 'team__app.versions', '1.json'),
  );
  await writeFile(noteOf('app'), JSON.stringify({ ...other, repository: own.repository }));
  const fault = /1\.json is the manifest of another repository, team\/other/;
  await expect(restore('team/app')).rejects.toThrow(fault);
  await database.db.query({ text: "UPDATE worker_repo_state SET archive_sha256 = ''" });
  await expect(verify('team/app')).rejects.toMatchObject({ code: 'CONFLICT', message: fault });
  expect((await call('drill', '--repo', 'team/app')).code).toBe(1);
  const drills = 'SELECT outcome, reason FROM restore_drills ORDER BY id DESC';
  const [last] = await rowsOf(database.db, drills);
  expect(last).toMatchObject({ outcome: 'failed', reason: expect.stringMatching(fault) });
});

it('an archive that somebody has renamed is named, and not restored as another repository', async () => {
  await backUp(['team/app']);
  for (const name of await readdir(archives)) {
    await rename(join(archives, name), join(archives, name.replace('team__app', 'evil__copy')));
  }
  await expect(restore('evil/copy')).rejects.toThrow(
    'evil__copy.bundle is the archive of team/app',
  );
  const said =
    'evil__copy.bundle is the archive of team/app: give it its old name, team__app.bundle';
  expect((await call('versions')).stdout).toContain(said);
  const all = await call('restore', '--all', '--to', join(folder, 'all'));
  expect(all).toMatchObject({ code: 1, stderr: expect.stringContaining(said) });
});
