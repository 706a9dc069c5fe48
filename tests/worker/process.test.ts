import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { useTemporaryFolder } from '../support/folders.ts';
import { createRepository, type TestRepository } from '../support/git.ts';
import { type GitServer, startGitServer } from '../support/git-server.ts';
import { useDatabase } from '../support/hooks.ts';
import { startIn } from '../support/local-start.ts';
import { runScript, startScript } from '../support/script.ts';
import { rowsOf } from '../support/worker.ts';

const folder = useTemporaryFolder();
let app: TestRepository;

beforeEach(async () => {
  app = await createRepository(join(folder, 'app'));
  await app.commit({ 'a.txt': 'a' });
});

describe('npm run worker', () => {
  const database = useDatabase();
  let server: GitServer;
  beforeAll(async () => {
    server = await startGitServer();
  });
  afterAll(() => server.close());

  it('backs up a relative path, with results on stdout and progress on stderr', async () => {
    const args = ['run', '--source', 'app'];
    const env = { DATABASE_URL: database.url };
    const { code, stdout, stderr } = await runScript('worker', { args, env, cwd: folder });
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: expect.stringMatching(/^Run \d+ completed: 1 repository, 1 backed up, .*\n$/),
      stderr: expect.stringMatching(
        /^run \d+ started.*\nlocal\/app: .*\nlocal\/app: archived 1 comm/,
      ),
    });
    expect(await readdir(join(folder, '.data', 'archives'))).toContain('local__app.bundle');
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('closes its run on %s during a clone', async (name) => {
    server.serve('team/app.git', app.path);
    const held = server.holdFetch();
    const worker = startScript('worker', {
      args: ['run', '--source', `${server.url}/team/app.git`],
      env: { DATABASE_URL: database.url },
      cwd: folder,
    });
    await held.came;
    worker.child.kill(name);
    const { code, stdout } = await worker.finished;
    held.release();
    expect({ code, stdout }).toEqual({
      code: 1,
      stdout: expect.stringContaining(`failed (interrupted by ${name})`),
    });
    const runs = 'SELECT status, error_message FROM backup_runs ORDER BY id DESC LIMIT 1';
    expect(await rowsOf(database.db, runs)).toEqual([
      { status: 'failed', error_message: `interrupted by ${name}` },
    ]);
    expect(await readdir(join(folder, '.data', 'archives'))).toEqual([]);
  });
});

it.each([
  [['--help'], 0, /The backup worker/, /^$/],
  [['run', '--help'], 0, /Backs up git repositories/, /^$/],
  [['rnu'], 2, /^$/, /^unknown command 'rnu' \(Did you mean run\?\)\nThe commands are: run, .*\n$/],
  [['run', '--sorce', 'a'], 2, /^$/, /^unknown option '--sorce' \(Did you mean --source\?\)\n$/],
])('worker %j exits with %d', async (args, code, stdout, stderr) => {
  expect(await runScript('worker', { args, cwd: folder })).toEqual({
    code,
    stdout: expect.stringMatching(stdout),
    stderr: expect.stringMatching(stderr),
  });
});

it('the worker reports in one line that there is no database', async () => {
  expect(await runScript('worker', { args: ['run', '--source', 'app'], cwd: folder })).toEqual({
    code: 1,
    stdout: '',
    stderr: 'there is no database: start the server with `npm start`, or set DATABASE_URL\n',
  });
});

it('the worker reports in one line that git is missing', async () => {
  const env = { PATH: folder };
  const args = ['run', '--source', 'app'];
  const { code, stderr } = await runScript('worker', { args, env, cwd: folder });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'git is not installed, or not on the PATH: install git 2.39.4 or newer\n',
  });
});

it('the worker writes to the embedded database of a running server, which shows the run at once', async () => {
  const env = { API_REQUIRE_AUTH: 'false' };
  const server = await startIn(folder, env);
  const args = ['run', '--source', 'app'];
  const { code, stdout } = await runScript('worker', { args, env, cwd: folder });
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('1 backed up') });
  const answer = await fetch(`${server.url}/api/repos`);
  expect(await answer.json()).toMatchObject({
    data: [{ full_name: 'local/app', last_status: 'completed' }],
  });
  server.child.kill('SIGTERM');
  await server.finished;
  // The database is unreachable now, but was reachable before.
  expect(await runScript('worker', { args, env, cwd: folder })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('this run is spooled in DATA_DIR'),
  });
  const dryRun = await runScript('worker', { args: [...args, '--dry-run'], env, cwd: folder });
  expect(dryRun.stderr).toMatch(/^there is no database/);
});
