import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createPostgres } from '../support/databases.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { createRepository, git, type TestRepository } from '../support/git.ts';
import { startGitServer } from '../support/git-server.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty } from '../support/records.ts';
import { callWorker, rowsOf } from '../support/worker.ts';

const database = useDatabase();
const folder = useTemporaryFolder();
let archives: string;
let app: TestRepository;

beforeEach(async () => {
  await empty(database.db);
  archives = join(folder, 'archives');
  app = await createRepository(join(folder, 'app'));
  await app.commit({ 'a.txt': 'a' });
});

const backUp = (...sources: string[]) =>
  callWorker({
    databaseUrl: database.url,
    archives,
    env: { DATA_DIR: join(folder, 'data') },
    args: ['run', ...sources.flatMap((source) => ['--source', source])],
  });
const lastResults = () =>
  rowsOf<{ repo_full_name: string; status: string; error_message: string }>(
    database.db,
    `SELECT repo_full_name, status, error_message FROM backup_results
     WHERE run_id = (SELECT max(id) FROM backup_runs) ORDER BY repo_full_name DESC`,
  );

it('a run continues after a failed repository, and completes with exit code 1', async () => {
  await app.commit({ 'a.txt': 'b' });
  await git(folder, 'clone', '--quiet', '--depth=1', `file://${app.path}`, 'shallow');
  const { code } = await backUp(join(folder, 'shallow'), app.path);
  expect(code).toBe(1);
  expect(await lastResults()).toEqual([
    {
      repo_full_name: 'local/shallow',
      status: 'failed',
      error_message: expect.stringContaining('shallow'),
    },
    { repo_full_name: 'local/app', status: 'completed', error_message: '' },
  ]);
  const runs = 'SELECT status, error_message FROM backup_runs ORDER BY id DESC LIMIT 1';
  expect(await rowsOf(database.db, runs)).toEqual([
    { status: 'completed', error_message: '1 repository failed' },
  ]);
});

describe('a source that was never read', () => {
  const lastRun = () =>
    rowsOf(
      database.db,
      `SELECT status, total_repos, failed, error_message, unread_sources FROM backup_runs ORDER BY id DESC LIMIT 1`,
    );
  const tracked = async () =>
    (
      await rowsOf<{ name: string }>(
        database.db,
        'SELECT DISTINCT repo_full_name AS name FROM backup_results UNION SELECT repo_full_name FROM worker_repo_state',
      )
    ).map(({ name }) => name);

  it.each([
    ['a path that does not exist', 'xx', 'there is no folder'],
    ['a pattern that the shell did not replace', '*', 'a shell replaces a pattern only'],
    ['a tilde that the shell did not replace', '~/xx', 'a shell replaces ~ only'],
    ['a file', 'plain.txt', 'is a file, and no git bundle'],
    ['a folder without repositories', 'plain', 'is no git repository, and holds none'],
  ])('is an error of the run, and no repository: %s', async (_, name, reason) => {
    await mkdir(join(folder, 'plain'), { recursive: true });
    await writeFile(join(folder, 'plain.txt'), 'a file');
    const path = join(folder, name);
    const { code, stdout, stderr } = await backUp(path, app.path);
    expect(code).toBe(1);
    expect(stderr).toContain('started: 2 sources\n');
    expect(stderr).toContain(`the source ${path} cannot be read`);
    expect(stdout).toContain('1 repository, 1 backed up, 0 unchanged, 0 failed, 1 source not read');
    expect(stdout).not.toContain('forget');
    expect(await lastRun()).toEqual([
      {
        ...{ status: 'completed', total_repos: 1, failed: 0 },
        error_message: `1 source could not be read: ${path}`,
        unread_sources: { [path]: expect.stringContaining(reason) },
      },
    ]);
    expect(await tracked()).toEqual(['local/app']);
  });

  it('is an address that refuses us or does not exist', async () => {
    const server = await startGitServer();
    server.refuse('no');
    const refused = `${server.url}/team/app.git`;
    expect((await backUp(refused)).code).toBe(1);
    await server.close();
    expect((await backUp(refused)).code).toBe(1);
    expect(await tracked()).toEqual([]);
  });

  it('is a repository once it was read, and then a failure is its own', async () => {
    expect((await backUp(app.path)).code).toBe(0);
    await rm(app.path, { recursive: true });
    expect((await backUp(app.path)).code).toBe(1);
    expect(await lastResults()).toMatchObject([{ repo_full_name: 'local/app', status: 'failed' }]);
    expect(await lastRun()).toMatchObject([{ unread_sources: null }]);
  });
});

it('a shallow repository, whose history is incomplete, is rejected', async () => {
  await app.commit({ 'a.txt': 'b' });
  await git(folder, 'clone', '--quiet', '--depth=1', `file://${app.path}`, 'shallow');
  expect((await backUp(join(folder, 'shallow'))).code).toBe(1);
  const [result] = await lastResults();
  expect(result?.error_message).toMatch(/is shallow.*`git fetch --unshallow`/);
  expect(await readdir(archives)).toEqual([]);
});

it('a source that is replaced by a shallow clone fails in every run, until it is whole again', async () => {
  expect((await backUp(app.path)).code).toBe(0);
  const whole = join(folder, 'whole');
  await git(folder, 'clone', '--quiet', '--mirror', app.path, whole);
  await app.commit({ 'a.txt': 'b' });
  await app.commit({ 'a.txt': 'c' });
  await app.git('push', '--quiet', whole, 'main');
  await rm(app.path, { recursive: true });
  await git(folder, 'clone', '--quiet', '--depth=1', `file://${whole}`, app.path);
  for (const _ of [1, 2]) {
    expect((await backUp(app.path)).code).toBe(1);
    expect((await lastResults())[0]).toMatchObject({
      status: 'failed',
      error_message: expect.stringMatching(/is shallow.*`git fetch --unshallow`/),
    });
  }
  await git(app.path, 'fetch', '--quiet', '--unshallow');
  expect((await backUp(app.path)).code).toBe(0);
  const newest = await git(folder, 'ls-remote', whole, 'refs/heads/main');
  const listed = await git(archives, 'bundle', 'list-heads', 'local__app.bundle');
  expect(listed).toContain(newest.slice(0, 40));
});

describe('a source that is replaced by an incomplete one, whose missing objects the mirror has', () => {
  const whole = () => join(folder, 'whole');
  const graft = async (path: string) => {
    await git(folder, 'clone', '--quiet', whole(), path);
    const head = await git(path, 'rev-parse', 'HEAD');
    await writeFile(join(path, '.git/info/grafts'), head);
  };
  const asWorkTree = async (path: string) => {
    await git(folder, 'clone', '--quiet', '--depth=1', `file://${whole()}`, `${path}-main`);
    await git(`${path}-main`, 'worktree', 'add', '--quiet', path);
  };
  const clone =
    (...options: string[]) =>
    (path: string) =>
      git(folder, 'clone', '--quiet', ...options, `file://${whole()}`, path);

  it.each<[string, RegExp, (path: string) => Promise<unknown>]>([
    ['a shallow clone', /is shallow/, clone('--depth=1')],
    ['a shallow mirror', /is shallow/, clone('--depth=1', '--mirror')],
    ['a work tree of a shallow clone', /is shallow/, asWorkTree],
    ['a partial clone', /is a partial clone/, clone('--filter=blob:none')],
    ['a partial mirror', /is a partial clone/, clone('--filter=tree:0', '--mirror')],
    ['a repository with grafts', /with grafts/, graft],
  ])('fails each run if it is %s, and the archive stays as it is', async (_, reason, replace) => {
    await app.commit({ 'a.txt': 'b' });
    expect((await backUp(app.path)).code).toBe(0);
    const note = await readFile(join(archives, 'local__app.bundle.json'), 'utf8');
    await git(folder, 'clone', '--quiet', '--mirror', app.path, whole());
    await git(whole(), 'config', 'uploadpack.allowFilter', 'true');
    await rm(app.path, { recursive: true });
    await replace(app.path);
    for (const _run of [1, 2]) {
      expect((await backUp(app.path)).code).toBe(1);
      const [result] = await lastResults();
      expect(result).toMatchObject({
        status: 'failed',
        error_message: expect.stringMatching(reason),
      });
    }
    expect(await readFile(join(archives, 'local__app.bundle.json'), 'utf8')).toBe(note);
    await rm(app.path, { recursive: true });
    await git(folder, 'clone', '--quiet', '--mirror', whole(), app.path);
    expect((await backUp(app.path)).code).toBe(0);
  });
});

it('a branch of a shallow clone fails although the other branches are whole', async () => {
  await app.git('branch', 'old');
  expect((await backUp(app.path)).code).toBe(0);
  await app.commit({ 'a.txt': 'b' });
  await app.commit({ 'a.txt': 'c' });
  const cut = await app.git('rev-parse', 'HEAD');
  await app.git('branch', 'new', 'old');
  await writeFile(join(app.path, '.git/shallow'), `${cut}\n`);
  expect((await backUp(app.path)).code).toBe(1);
  expect((await lastResults())[0]?.error_message).toMatch(/is shallow/);
});

it('a ref that git leaves out without an error is a failure, at first and later', async () => {
  const hosted = join(folder, 'hosted/team/app.git');
  await git(folder, 'clone', '--quiet', '--mirror', app.path, hosted);
  await git(hosted, 'update-server-info');
  const id = await app.git('rev-parse', 'HEAD');
  const refs = join(hosted, 'info/refs');
  await writeFile(refs, `${await readFile(refs, 'utf8')}${id}\trefs/heads/.odd\n`);
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://127.0.0.1');
    const file = createReadStream(join(folder, 'hosted', pathname));
    file.once('error', () => response.writeHead(404).end()).once('open', () => file.pipe(response));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  for (const _ of [1, 2]) {
    expect((await backUp(`http://127.0.0.1:${port}/team/app.git`)).code).toBe(1);
    expect((await lastResults())[0]?.error_message).toMatch(
      /did not fetch 1 ref .*refs\/heads\/\.odd/,
    );
  }
});

it('a repository with a missing object is rejected, and its previous archive is kept', async () => {
  await backUp(app.path);
  const before = await readFile(join(archives, 'local__app.bundle'));
  await app.commit({ 'a.txt': 'to be lost' });
  const blob = await app.git('rev-parse', 'HEAD:a.txt');
  await rm(join(app.path, '.git', 'objects', blob.slice(0, 2), blob.slice(2)));

  expect((await backUp(app.path)).code).toBe(1);
  expect((await lastResults())[0]).toMatchObject({ status: 'failed' });
  expect(await readFile(join(archives, 'local__app.bundle'))).toEqual(before);
  expect((await readdir(archives)).sort()).toEqual([
    'local__app.bundle',
    'local__app.bundle.json',
    'local__app.versions',
  ]);
});

it('a source given twice is rejected before the run starts', async () => {
  await backUp(app.path);
  const before = await lastResults();
  await expect(backUp(app.path, app.path)).rejects.toMatchObject({
    code: 'BAD_REQUEST',
    message: expect.stringContaining('the source local/app is given twice'),
  });
  expect(await lastResults()).toEqual(before);
});

it('an error of the system is reported in one plain line', async () => {
  const file = join(folder, 'file');
  await writeFile(file, '');
  const { code, stderr } = await backUp(join(file, 'app'));
  expect(code).toBe(1);
  expect(await lastResults()).toEqual([]);
  expect(stderr.split('\n').filter((line) => line.includes('cannot be read: '))).toEqual([
    expect.stringMatching(/cannot be read: there is no folder \S+: a part of this path is a file$/),
  ]);
});

it('a repository that would share the archive of another one is rejected', async () => {
  await database.db.query({
    text: `INSERT INTO worker_repo_state (repo_full_name, archive_key)
           VALUES ('local__a/b', 'local__a__b.bundle')`,
  });
  const other = await createRepository(join(folder, 'a__b'));
  await other.commit({ 'b.txt': 'b' });
  await backUp(other.path);
  expect((await lastResults())[0]?.error_message).toBe(
    'the archive local__a__b.bundle belongs to local__a/b',
  );
});

it('messages of a hostile server are stored and shown without credentials or control characters', async () => {
  const server = await startGitServer();
  server.refuse(
    `\u001b[31mno\u0001 https://ada:pass-word@example.org/x \u202eevil ${'x'.repeat(3_000)}`,
  );
  const { code, stderr } = await backUp(`${server.url}/team/app.git`).finally(server.close);
  expect(code).toBe(1);
  const [line] = await rowsOf<{ message: string }>(
    database.db,
    "SELECT message FROM execution_logs WHERE level = 'error' ORDER BY id LIMIT 1",
  );
  for (const text of [stderr.replaceAll('\n', ''), line?.message]) {
    expect(text).toContain('example.org');
    expect(text).not.toMatch(/[\p{Cc}\u202e]|pass-word/u);
  }
  expect(line?.message).toHaveLength(2_000);
});

it('hostile commit messages and file names are stored without control characters', async () => {
  const name = 'evil\u001b]0;title\u0007\nname';
  await app.commit({ [name]: 'x'.repeat(100) }, 'subject \u001b[2J\u202e https://a:secret-1@b.c/');
  expect((await backUp(app.path)).code).toBe(0);
  const [snapshot] = await rowsOf<Record<string, string>>(
    database.db,
    `SELECT head_commit_message, largest_blob_path FROM analytics_snapshots
     ORDER BY id DESC LIMIT 1`,
  );
  expect(snapshot).toEqual({
    head_commit_message: 'subject [2J https://[redacted]@b.c/',
    largest_blob_path: 'local/app:evil]0;title name',
  });
});

it('a run fails if the archive folder cannot be used', async () => {
  await writeFile(archives, 'a file');
  const { code, stdout } = await backUp(app.path);
  expect({ code, stdout }).toEqual({
    code: 1,
    stdout: expect.stringMatching(/^Run \d+ failed \(the archive folder cannot be used: /),
  });
  const runs = `SELECT status, error_message, exclusive_key FROM backup_runs ORDER BY id DESC LIMIT 1`;
  expect(await rowsOf(database.db, runs)).toEqual([
    {
      status: 'failed',
      error_message: expect.stringMatching(
        /^the archive folder cannot be used: .*(EEXIST|ENOTDIR)/,
      ),
      exclusive_key: null,
    },
  ]);
});

// There, mkdir returns ENOENT although the parent exists, which makes Node's recursive mkdir loop.
it.runIf(process.platform === 'linux')(
  'a run fails if the archive folder is in /proc',
  async () => {
    archives = '/proc/archives/of/ada';
    expect((await backUp(app.path)).stdout).toMatch(/the archive folder cannot be used: ENOENT/);
  },
);

it('the archive folder and its parents are created so that only their owner can use them', async () => {
  archives = join(folder, 'some', 'where');
  expect((await backUp(app.path)).code).toBe(0);
  expect((await stat(join(folder, 'some'))).mode & 0o777).toBe(0o700);
  expect((await stat(archives)).mode & 0o777).toBe(0o700);
});

it('files of a killed worker are removed from the archive folder, and those of a running one stay', async () => {
  // No process has the highest id that Linux assigns; the parent of this one is running.
  const left = `.scratch-${hostname()}-4194304-aaaaaa`;
  const living = `.scratch-${hostname()}-${process.ppid}-bbbbbb`;
  const foreign = '.scratch-another-machine-1-cccccc';
  for (const name of [left, living, foreign]) {
    await mkdir(join(archives, name, 'clone.git'), { recursive: true });
  }
  await backUp(app.path);
  const names = await readdir(archives);
  expect(names).not.toContain(left);
  expect(names).toEqual(expect.arrayContaining([living, foreign]));
});

it('a run reports in one line that the database has no tables', async () => {
  const bare = await createPostgres({ migrated: false });
  const args = ['run', '--source', app.path];
  await expect(callWorker({ databaseUrl: bare.url, archives, args })).rejects.toThrow(
    'the database has no tables yet: run `npm run migrate`',
  );
  await bare.close();
});

it('a run on tables of an earlier version does not start, and says in one line what to do', async () => {
  const earlier = await createPostgres();
  await earlier.db.query({ text: 'ALTER TABLE backup_runs DROP COLUMN progress' });
  const args = ['run', '--source', app.path];
  await expect(callWorker({ databaseUrl: earlier.url, archives, args })).rejects.toThrow(
    'the database has tables of an earlier version: run `npm run migrate`',
  );
  expect(await rowsOf(earlier.db, 'SELECT id FROM backup_runs')).toEqual([]);
  await earlier.close();
});
