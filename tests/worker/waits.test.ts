import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
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

describe('an archive folder that hangs', () => {
  /** Starts a run whose archive folder hangs. */
  async function startHanging(stallSeconds: string) {
    const archives = join(folder, 'archives');
    const start = () =>
      startScript('worker', {
        cwd: folder,
        args: ['run', '--source', app.path],
        env: {
          DATABASE_URL: database.url,
          BACKUP_ARCHIVE_PATH: archives,
          DATA_DIR: join(folder, 'data'),
          GIT_STALL_SECONDS: stallSeconds,
          DRILL_BUDGET_MINUTES: '0',
        },
      });
    await start().finished;
    // Nobody ever writes to it, so opening it takes for ever, as on a mount that hangs.
    const note = join(archives, 'local__app.bundle.json');
    await rm(note);
    execFileSync('mkfifo', [note]);
    return { archives, run: start() };
  }

  it('ends the run and its process, although a call to it never returns', async () => {
    const { archives, run } = await startHanging('2');
    const { code, stderr } = await run.finished;
    expect(stderr).toContain(`the folder ${archives} has not answered for 2 s`);
    expect(code).toBe(1);
  });

  it('lets Ctrl-C end the run and its process', async () => {
    const { run } = await startHanging('300');
    await run.waitFor(/started: /);
    run.child.kill('SIGINT');
    const { code, stderr } = await run.finished;
    expect(stderr).toContain('interrupted by SIGINT');
    expect(code).toBe(1);
  });
});
