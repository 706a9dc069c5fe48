import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { useTemporaryFolder } from '../support/folders.ts';
import { createRepository, type TestRepository } from '../support/git.ts';
import { startGitServer } from '../support/git-server.ts';
import { useDatabase } from '../support/hooks.ts';
import { processesOf } from '../support/processes.ts';
import { sql } from '../support/records.ts';
import { startScript } from '../support/script.ts';
import { callWorker, lastResults } from '../support/worker.ts';

const database = useDatabase();
const folder = useTemporaryFolder();
let app: TestRepository;

beforeEach(async () => {
  app = await createRepository(join(folder, 'app'));
  await app.commit({ 'a.txt': 'a' });
});

/** Backs up a source that waits, and one that does not. Returns why the first one failed. */
async function backUp(source: string, env: Record<string, string> = {}) {
  const { code } = await callWorker({
    databaseUrl: database.url,
    archives: join(folder, 'archives'),
    args: ['run', '--source', source, '--source', app.path],
    env: { HOME: folder, GIT_STALL_SECONDS: '1', DATA_DIR: join(folder, 'data'), ...env },
  });
  const results = await lastResults(database.db);
  const other = results.find(({ repo_full_name }) => repo_full_name === 'local/app');
  expect([code, other?.status]).toEqual([1, 'completed']);
  expect((await processesOf(folder)).map(({ command }) => command)).toEqual([]);
  const [failure] = await sql<{ message: string }>(
    database.db,
    `SELECT message FROM execution_logs WHERE level = 'error' ORDER BY id DESC LIMIT 1`,
  );
  // A source whose refs were never read is no repository yet.
  return failure?.message.replace(/^the source \S+ cannot be read: /, '');
}

const configure = (text: string) => writeFile(join(folder, '.gitconfig'), text);

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => void open.add(socket.on('error', () => undefined)));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

const serveHttp = async (answer: RequestListener) =>
  `http://127.0.0.1:${await listen(createHttpServer(answer))}/team/slow.git`;

const asksForPassword: RequestListener = (_, response) =>
  response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="git"' }).end();

it('a credential helper that hangs fails one repository', async () => {
  await configure('[credential]\n\thelper = "!sleep 100000 #"\n');
  expect(await backUp(await serveHttp(asksForPassword))).toBe(
    'git clone moved no data for 1 s and was stopped: it waited for the program sleep, such as a credential helper',
  );
});

it('no program is asked for a password', async () => {
  const asked = join(folder, 'asked');
  const ask = join(folder, 'ask');
  await writeFile(ask, `#!/bin/sh\ntouch ${asked}\nexec sleep 100000\n`);
  await chmod(ask, 0o700);
  await configure(`[core]\n\taskPass = ${ask}\n`);
  const env = { GIT_ASKPASS: ask, SSH_ASKPASS: ask, SSH_ASKPASS_REQUIRE: 'force', DISPLAY: ':9' };
  expect(await backUp(await serveHttp(asksForPassword), env)).toContain('could not read Username');
  expect(existsSync(asked)).toBe(false);
});

it.each<[string, RequestListener]>([
  ['before its first byte', () => undefined],
  ['after its headers', (_, response) => void response.writeHead(200).flushHeaders()],
])('an http server that is silent %s fails one repository', async (_, answer) => {
  expect(await backUp(await serveHttp(answer))).toMatch(
    /no data for 1 s and was stopped: it waited for the other side$/,
  );
});

it('an http server that is silent after the list of refs fails one repository', async () => {
  const server = await startGitServer();
  onTestFinished(() => server.close());
  server.serve('team/slow.git', join(app.path, '.git'));
  const holding = server.holdFetch();
  onTestFinished(() => holding.release());
  expect(await backUp(`${server.url}/team/slow.git`)).toMatch(
    /no data for 1 s and was stopped: it waited for the other side$/,
  );
});

it('a git server that is silent fails one repository', async () => {
  const port = await listen(createServer());
  expect(await backUp(`git://127.0.0.1:${port}/team/slow.git`)).toBe(
    'git clone moved no data for 1 s and was stopped: it waited for the other side',
  );
});

it('a git server that only keeps the connection alive fails one repository', async () => {
  const packet = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text;
  const ref = `${'a'.repeat(40)} refs/heads/main`;
  const server = createServer((socket) => {
    socket.once('data', () => {
      socket.write(`${packet(`${ref}\0side-band-64k ofs-delta\n`)}0000`);
      socket.once('data', () => {
        socket.write(packet('NAK\n'));
        const timer = setInterval(() => socket.write('0005\u0001'), 50);
        socket.on('close', () => clearInterval(timer));
      });
    });
  });
  const port = await listen(server);
  expect(await backUp(`git://127.0.0.1:${port}/team/slow.git`)).toMatch(/no data for 1 s/);
});

it.each([
  ['GIT_SSH_COMMAND', (command: string) => ({ GIT_SSH_COMMAND: command })],
  ['core.sshCommand', () => ({})],
])('an ssh that hangs, from %s, fails one repository', async (_, environment) => {
  const env = environment('sleep 100000 #');
  if (Object.keys(env).length === 0) await configure('[core]\n\tsshCommand = "sleep 100000 #"\n');
  expect(await backUp('ssh://host.invalid/team/slow.git', env)).toMatch(/waited for the program/);
});

it('ssh without settings of the user never asks and gives up', async () => {
  const seen = join(folder, 'seen');
  await mkdir(join(folder, 'bin'));
  await writeFile(join(folder, 'bin/ssh'), `#!/bin/sh\necho "$@" >>${seen}\nexit 255\n`);
  await chmod(join(folder, 'bin/ssh'), 0o700);
  const env = { PATH: `${join(folder, 'bin')}:${process.env.PATH}` };
  await backUp('ssh://host.invalid/team/slow.git', env);
  expect(execFileSync('head', ['-1', seen]).toString()).toMatch(
    /-oBatchMode=yes -oConnectTimeout=1 -oServerAliveInterval=1 -oServerAliveCountMax=3 .*host\.invalid/,
  );
});

it.each(['HEAD', 'packed-refs', 'objects/info/alternates'])(
  'a local repository in which reading %s hangs fails alone',
  async (name) => {
    const slow = await createRepository(join(folder, 'slow'));
    await slow.commit({ 'a.txt': 'a' });
    const file = join(slow.path, '.git', name);
    if (existsSync(file)) await rename(file, `${file}.old`);
    await mkdir(join(file, '..'), { recursive: true });
    execFileSync('mkfifo', [file]);
    expect(await backUp(slow.path)).toBe(
      'git clone moved no data for 1 s and was stopped: it waited for a file system',
    );
  },
);

/** Makes an archive of two repositories. */
async function archiveTwo(env: Record<string, string> = {}) {
  const other = await createRepository(join(folder, 'other'));
  await other.commit({ 'b.txt': 'b' });
  const archives = join(folder, 'archives');
  const call = (...args: string[]) =>
    callWorker({
      databaseUrl: database.url,
      archives,
      args,
      env: { HOME: folder, GIT_STALL_SECONDS: '1', DATA_DIR: join(folder, 'data'), ...env },
    });
  const run = () => call('run', '--source', app.path, '--source', other.path);
  expect((await run()).code).toBe(0);
  return { archives, other, call, run };
}

/** Puts a pipe that nobody writes to in the place of a file, so that opening it takes for ever. */
async function putPipe(path: string): Promise<void> {
  await rm(path);
  execFileSync('mkfifo', [path]);
}

it.each(['local__other.bundle', 'local__other.bundle.json'])(
  'a repository with a pipe for %s fails alone',
  async (name) => {
    const { archives, call, run, other } = await archiveTwo();
    await app.commit({ 'a.txt': 'b' });
    await other.commit({ 'b.txt': 'c' });
    await putPipe(join(archives, name));
    expect((await run()).code).toBe(1);
    expect(await lastResults(database.db)).toMatchObject([
      { repo_full_name: 'local/app', status: 'completed' },
      {
        repo_full_name: 'local/other',
        status: 'failed',
        error_message: `${join(archives, name)} is not a file: move it away`,
      },
    ]);
    const restored = await call('restore', '--all', '--to', join(folder, 'restored'));
    expect(restored.code).toBe(name.endsWith('.bundle') ? 1 : 0);
    expect(existsSync(join(folder, 'restored/local/app/a.txt'))).toBe(true);
  },
);

it('a repository with a pipe for a manifest fails alone', async () => {
  const { archives, call, run, other } = await archiveTwo();
  await other.commit({ 'b.txt': 'c' });
  await putPipe(join(archives, 'local__other.versions/1.json'));
  expect((await run()).code).toBe(1);
  const results = await lastResults(database.db);
  expect(results.find(({ repo_full_name }) => repo_full_name === 'local/other')).toMatchObject({
    status: 'failed',
    error_message: expect.stringContaining('the manifest of version 1 is missing or was altered'),
  });
  await call('restore', '--all', '--to', join(folder, 'restored'));
  expect(existsSync(join(folder, 'restored/local/app/a.txt'))).toBe(true);
});

describe('a folder that hangs', () => {
  const preload = resolve(import.meta.dirname, '../support/hanging-mount.ts');

  /** Starts a command in which every look below a folder takes for ever. */
  function startHanging(
    hanging: string,
    stallSeconds: string,
    args: string[],
    env: Record<string, string> = {},
  ) {
    const pipe = join(folder, 'pipe');
    if (!existsSync(pipe)) execFileSync('mkfifo', [pipe]);
    return startScript('worker', {
      cwd: folder,
      args,
      env: {
        DATABASE_URL: database.url,
        BACKUP_ARCHIVE_PATH: join(folder, 'archives'),
        DATA_DIR: join(folder, 'data'),
        GIT_STALL_SECONDS: stallSeconds,
        DRILL_BUDGET_MINUTES: '0',
        HANG_FOLDER: hanging,
        HANG_PIPE: pipe,
        NODE_OPTIONS: `--import=${preload}`,
        ...env,
      },
    });
  }

  it.each([
    ['run', () => ['run', '--source', app.path]],
    ['versions', () => ['versions']],
    ['versions of one', () => ['versions', 'local/app']],
    ['restore', () => ['restore', 'local/app', '--to', join(folder, 'restored')]],
    ['restore --all', () => ['restore', '--all', '--to', join(folder, 'restored')]],
    ['drill', () => ['drill', '--all']],
    ['run --dry-run', () => ['run', '--dry-run', '--source', app.path]],
  ])('ends %s and its process, although a call to it never returns', async (_, args) => {
    await archiveTwo();
    const archives = join(folder, 'archives');
    const { code, stderr } = await startHanging(archives, '2', args()).finished;
    expect(stderr).toContain(`${archives} or`);
    expect(stderr).toContain('has not answered for 2 s: is the disk or network drive connected?');
    expect(code).toBe(1);
  });

  it('ends a restore to it', async () => {
    await archiveTwo();
    const target = join(folder, 'target');
    const args = ['restore', 'local/app', '--to', join(target, 'app')];
    const { code, stderr } = await startHanging(target, '2', args).finished;
    expect(stderr).toContain('has not answered for 2 s: is the disk or network drive connected?');
    expect(code).toBe(1);
  });

  it('fails the copy of a repository in a store there, and archives it', async () => {
    const { archives } = await archiveTwo();
    const store = join(folder, 'store');
    await mkdir(store);
    await app.commit({ 'a.txt': 'c' });
    const args = ['run', '--source', app.path];
    const run = startHanging(store, '2', args, { BACKUP_STORES: `file://${store}` });
    const { code, stderr } = await run.finished;
    expect(stderr).toContain(
      `backed up, but not stored off-site: file://${store}: no answer for 2 s: is the disk or network drive connected?`,
    );
    expect(code).toBe(1);
    expect(existsSync(join(archives, 'local__app.bundle'))).toBe(true);
  });

  it('lets Ctrl-C end the run and its process', async () => {
    const { archives } = await archiveTwo();
    const run = startHanging(archives, '300', ['run', '--source', app.path]);
    await run.waitFor(/started: /);
    run.child.kill('SIGINT');
    const { code, stderr } = await run.finished;
    expect(stderr).toContain('interrupted by SIGINT');
    expect(code).toBe(1);
  });
});
