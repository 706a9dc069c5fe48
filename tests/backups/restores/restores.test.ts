import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createServedArchives } from '../../../lib/backups/archives/served-archives.ts';
import type { RestoreJobs } from '../../../lib/backups/base/restores-deps.ts';
import { openRestoreJobs } from '../../../lib/backups/restores/restore-jobs.ts';
import { systemClock } from '../../../lib/clock.ts';
import { type ArchiveFolder, createArchiveFolder } from '../../support/archives.ts';
import { createChain } from '../../support/chains.ts';
import { type Client, createClient } from '../../support/client.ts';
import { createBare, feedGit, git, listRefs } from '../../support/git.ts';
import { startGitHost } from '../../support/git-host/server.ts';
import { serveSmartHttp } from '../../support/git-host/smart-http.ts';
import { grantAppToken } from '../../support/git-host/state.ts';
import { useDatabase } from '../../support/hooks.ts';
import { sql } from '../../support/records.ts';
import { scriptEnvironment } from '../../support/script.ts';

// Restores asked for over HTTP, with the worker's real command in a process of its own.

const WORKER = resolve(import.meta.dirname, '../../../scripts/worker.ts');

/** A stand-in for a worker that never ends by itself. */
const ENDLESS = `
process.stdout.write('{"event":"step","step":"unpacking","files":1,"all_files":3}\\n');
process.on('SIGTERM', () => process.exit(1));
setInterval(() => undefined, 1_000);
`;

interface Restore {
  id: number;
  status: string;
  target: string;
  error: string | null;
  step: string | null;
  files_done: number | null;
  restored: { version: number; head_commit: string; refs: number; unwritten: number } | null;
  pushed: { same: number; missing: number } | null;
  requested_by: string;
}

const database = useDatabase();
let archives: ArchiveFolder;
let commits: string[];

beforeAll(async () => {
  archives = await createArchiveFolder();
  const app = await archives.repository('app');
  const chain = createChain(archives.root, 'team__app.bundle', app);
  commits = [await app.commit({ 'a.txt': 'one' })];
  await chain.version();
  commits.push(await app.commit({ 'a.txt': 'two' }));
  await app.git('tag', 'v2');
  await chain.version();
  const hostile = await archives.repository('hostile');
  const blob = await feedGit(hostile.path, ['hash-object', '-w', '--stdin'], 'x');
  const entries = Buffer.concat([Buffer.from('100644 .GIT\0'), Buffer.from(blob, 'hex')]);
  await writeFile(join(archives.outside, 'tree'), entries);
  const literally = ['hash-object', '-t', 'tree', '-w', '--literally'];
  const tree = await hostile.git(...literally, join(archives.outside, 'tree'));
  await hostile.git(
    'update-ref',
    'refs/heads/main',
    await hostile.git('commit-tree', '-m', 'x', tree),
  );
  await createChain(archives.root, 'team__hostile.bundle', hostile).version();
  await writeFile(join(archives.outside, 'endless.mjs'), ENDLESS);
}, 120_000);
afterAll(() => archives.remove());

let folders = 0;
let data: string;
let jobs: RestoreJobs;
let client: Client;

async function open(script = WORKER, env: Record<string, string> = {}): Promise<void> {
  const environment = {
    ...scriptEnvironment(archives.outside),
    ...{ DATA_DIR: data, BACKUP_ARCHIVE_PATH: archives.root, DATABASE_URL: database.url },
    ...env,
  };
  const { db } = database;
  const made = createClient({ db, environment, archives: createServedArchives });
  const { config, log } = made.deps;
  jobs = await openRestoreJobs({
    ...{ config: { ...config, ...env }, db, log, clock: systemClock, environment, script },
  });
  client = createClient({ db, environment, archives: createServedArchives, restores: jobs });
  logged = made.deps.logged;
}
let logged: readonly object[];
const openEndless = () => open(join(archives.outside, 'endless.mjs'));

beforeEach(async () => {
  data = join(archives.outside, `data-${folders++}`);
  await sql(database.db, 'TRUNCATE restores RESTART IDENTITY');
});
afterEach(() => jobs.close());

const ask = async (json: object) => {
  const { status, body } = await client.post('/api/restores', { repository: 'team/app', ...json });
  return { status, body: body as Restore & { error: string } };
};
const read = async (id: number) => (await client.get(`/api/restores/${id}`)).body as Restore;
/** Waits for a restore to have a status. */
async function reach(id: number, ...wanted: string[]): Promise<Restore> {
  await expect
    .poll(async () => (await read(id)).status, { timeout: 120_000, interval: 100 })
    .toBeOneOf(wanted);
  return read(id);
}
const ended = (id: number) => reach(id, 'done', 'failed', 'canceled', 'interrupted');

describe('POST /api/restores', () => {
  it('restores a version to a new folder, proved, and says who asked', async () => {
    await open();
    const { status, body } = await ask({ version: 1, folder: 'mine' });
    expect([status, body]).toMatchObject([
      201,
      { repository: 'team/app', kind: 'folder', target: join(data, 'restored', 'mine') },
    ]);
    const restore = await ended(body.id);
    expect(restore).toMatchObject({
      ...{ status: 'done', error: null, requested_by: 'api', files_done: 1 },
      restored: { version: 1, head_commit: commits[0], refs: 1, is_recorded: true, unwritten: 0 },
      pushed: null,
    });
    expect(await git(restore.target, 'rev-parse', 'HEAD')).toBe(commits[0]);
    expect(await git(restore.target, 'status', '--porcelain')).toBe('');
    expect(logged).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ message: 'a restore was asked for', by: 'api', version: 1 }),
        expect.objectContaining({ message: 'a restore ended', status: 'done' }),
      ]),
    );
  });

  it('restores the newest version, without a work tree or only one tag if asked, and names the folder', async () => {
    await open();
    const first = await ended((await ask({ bare: true })).body.id);
    expect(first).toMatchObject({ status: 'done', restored: { version: 2, refs: 2 } });
    expect(first.target).toBe(join(data, 'restored', 'team-app-newest'));
    expect(await readdir(first.target)).toContain('HEAD');
    const second = await ended((await ask({ ref: 'v2' })).body.id);
    expect(second).toMatchObject({ restored: { refs: 1 }, target: `${first.target}-2` });
  });

  it('never writes over anything, nor follows a link', async () => {
    await open();
    const root = join(data, 'restored');
    await mkdir(join(root, 'empty'), { recursive: true });
    await symlink(archives.outside, join(root, 'link'));
    await writeFile(join(root, 'file'), 'x');
    for (const folder of ['empty', 'link', 'file']) {
      expect(await ask({ folder })).toMatchObject({
        status: 409,
        body: { error: expect.stringContaining('already exists') },
      });
    }
  });

  it.each([
    ...['../up', '..', '.', '/etc/x', 'a/b', 'a\\b', '.git', '.hidden', 'GIT~1', 'con', 'NUL.txt'],
    ...['a.', 'a ', 'C:x', 'a\u0000b', 'a\u001bb', 'a\u202eb', '', 'x'.repeat(101), '-rf'],
  ])('refuses the folder %j', async (folder) => {
    await open();
    // Spaces around a name are dropped.
    const name = folder === 'a ' ? 'a .' : folder;
    expect((await ask({ folder: name })).status).toBe(400);
    expect(await listRestores()).toEqual([]);
  });

  it.each([
    ['https://user:secret@host/team/app.git'],
    ['http://host/team/app.git'],
    ['ext::sh -c touch% /tmp/pwned'],
    ['/tmp/folder'],
    ['file:///tmp/folder'],
    ['--upload-pack=x'],
    ['https://host/team/app.git?token=x'],
  ])('refuses to push to %s, and does not repeat it', async (push) => {
    await open();
    const { status, body } = await ask({ push });
    expect(status).toBe(400);
    expect(body.error).not.toContain('secret');
  });

  it('fails loudly for a version that does not exist, and leaves nothing', async () => {
    await open();
    const restore = await ended((await ask({ version: 9 })).body.id);
    expect(restore).toMatchObject({ status: 'failed', restored: null });
    expect(restore.error).toContain('has no version 9');
    expect(await readdir(join(data, 'restored'))).toEqual([]);
  });

  it('writes no file that git would take for its own, and leaves nothing', async () => {
    await open();
    const restore = await ended((await ask({ repository: 'team/hostile', folder: 'h' })).body.id);
    expect(restore).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('check out'),
    });
    expect(await readdir(join(data, 'restored'))).toEqual([]);
  });

  it('answers 404 for a repository without an archive', async () => {
    await open();
    expect((await ask({ repository: 'team/none' })).status).toBe(404);
    expect((await ask({ repository: '../../etc/x' })).status).toBe(400);
  });

  it('restores nothing into the archive folder', async () => {
    await open(WORKER, { RESTORE_DIR: join(archives.root, 'inside') });
    expect(await ask({})).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('RESTORE_DIR is in the archive folder') },
    });
  });

  it('says where it works on a server without a machine', async () => {
    await open();
    const deployed = createClient({ db: database.db });
    expect(await deployed.post('/api/restores', { repository: 'team/app' })).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('npm start') },
    });
    expect((await deployed.get('/api/restores')).status).toBe(200);
  });
});

describe('a restore to a git host', () => {
  it('pushes to an empty repository, and never to one with refs', async () => {
    const host = await startGitHost();
    const remotes = join(archives.outside, 'remotes');
    serveSmartHttp(host.app, host.state, remotes);
    await createBare(join(remotes, 'ada', 'new.git'));
    host.addRepository({ fullName: 'ada/new', private: true });
    const { access_token: token } = grantAppToken(host.state, 'ada', 'Iv1.standin');
    const helper = `!f() { echo username=x-access-token; echo password=${token}; }; f`;
    const home = join(archives.outside, 'home');
    await mkdir(home, { recursive: true });
    await writeFile(join(home, '.gitconfig'), `[credential]\n\thelper = "${helper}"\n`);
    await open(WORKER, { HOME: home });
    const push = `${host.url}/ada/new.git`;
    const restore = await ended((await ask({ push })).body.id);
    expect(restore).toMatchObject({
      ...{ error: null, status: 'done', kind: 'push', target: push },
      pushed: { same: 2, missing: 0 },
    });
    expect(await listRefs(join(remotes, 'ada', 'new.git'))).toContain(
      `${commits[1]}\trefs/heads/main`,
    );
    const again = await ended((await ask({ push, version: 1 })).body.id);
    expect(again).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('is not empty'),
    });
    await host.close();
  });
});

describe('the queue', () => {
  it('performs one restore of a caller at a time, and stops those that are canceled', async () => {
    await openEndless();
    const ids = [];
    for (const folder of ['a', 'b']) ids.push((await ask({ folder })).body.id);
    const [first = 0, second = 0] = ids;
    await reach(first, 'running');
    await expect.poll(async () => (await read(first)).files_done, { timeout: 60_000 }).toBe(1);
    expect((await read(second)).status).toBe('waiting');
    // The name is taken although nothing exists yet.
    expect((await ask({ folder: 'a' })).status).toBe(409);
    const cancel = (id: number) => client.post(`/api/restores/${id}/cancel`, undefined);
    expect(await cancel(second)).toMatchObject({ status: 200, body: { status: 'canceled' } });
    expect(await cancel(first)).toMatchObject({ status: 200, body: { status: 'canceled' } });
    expect(await cancel(first)).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('already ended') },
    });
    expect((await cancel(99)).status).toBe(404);
  });

  it('has a bound for each caller', async () => {
    await openEndless();
    for (let n = 0; n < 10; n++) expect((await ask({ folder: `f${n}` })).status).toBe(201);
    expect((await ask({ folder: 'one-more' })).status).toBe(429);
  });

  it('says what was interrupted when the server is stopped', async () => {
    await openEndless();
    const { id } = (await ask({ folder: 'a' })).body;
    await reach(id, 'running');
    await jobs.close();
    expect(await read(id)).toMatchObject({
      status: 'interrupted',
      error: expect.stringContaining('the server was stopped'),
    });
  });

  it('says what was interrupted when the server was killed, once it starts again', async () => {
    const insert = (server: string, seen: string) =>
      sql(
        database.db,
        `INSERT INTO restores (repo_full_name, kind, target, status, requested_by, server, seen_at)
         VALUES ('team/app', 'folder', '/x', 'running', 'ada', $1, now() - $2::interval)`,
        [server, seen],
      );
    await insert(`${hostname()}:${data}`, '1 second');
    await insert('elsewhere:/data', '1 second');
    await insert('elsewhere:/data', '4 minutes');
    await open();
    const statuses = (await listRestores()).map(({ status }) => status);
    // Another machine is only believed gone when it is silent.
    expect(statuses).toEqual(['interrupted', 'running', 'interrupted']);
    const { body } = await client.post('/api/restores/2/cancel', undefined);
    expect(body).toMatchObject({ error: expect.stringContaining('on another server') });
  });
});

async function listRestores(): Promise<Restore[]> {
  const { body } = await client.get('/api/restores?repository=Team/APP');
  return (body as { data: Restore[] }).data;
}

describe('restores that are asked for at the same time', () => {
  it('get a folder each', async () => {
    await openEndless();
    const answers = await Promise.all(Array.from({ length: 4 }, () => ask({})));
    const targets = answers.map(({ body }) => body.target);
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(new Set(targets).size).toBe(4);
  });

  it('get the folder that they name only once', async () => {
    await openEndless();
    const answers = await Promise.all(Array.from({ length: 3 }, () => ask({ folder: 'same' })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409]);
  });

  it('are no more than one caller may have', async () => {
    await openEndless();
    const answers = await Promise.all(Array.from({ length: 25 }, () => ask({})));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(15);
  });
});
