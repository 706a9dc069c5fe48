import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { report as reportShape } from '../../scripts/doctor/report.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { deploymentSecrets, examineWith } from '../support/doctor.ts';
import { emptyFolder, startIn } from '../support/local-start.ts';
import { type RunningScript, runScript } from '../support/script.ts';
import { startScriptedServer } from '../support/scripted-server.ts';
import { startOnTerminal } from '../support/terminal.ts';

let folder: Awaited<ReturnType<typeof emptyFolder>>;
beforeEach(async () => {
  folder = await emptyFolder();
});
afterEach(() => folder.remove());

const runDoctor = (args: string[], env: Record<string, string> = {}) =>
  runScript('doctor', {
    args,
    cwd: folder.path,
    env: { PORT: '0', EMBEDDED_DB_PORT: '0', ...env },
  });

describe('npm run doctor', () => {
  it('ends with 0 on a fresh install, and leaves nothing behind', async () => {
    const { code, stdout, stderr } = await runDoctor([]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/✔ INTERNAL_SECRET +made by the first `npm start`\n/);
    expect(stdout).toMatch(/✔ database +embedded, made in \.data by the first `npm start`\n/);
    expect(stdout).toMatch(/○ mail +not configured: no report is mailed\n/);
    expect(stdout).toContain('    worker: backups\n');
    expect(stdout).toContain('  Nothing that is required is missing.\n');
    expect(await readdir(folder.path)).toEqual([]);
  });

  it('shows no escape sequence where stdout is no terminal', async () => {
    const { stdout } = await runDoctor([]);
    expect(stripVTControlCharacters(stdout)).toBe(stdout);
  });

  it.each([
    ['in colour on a terminal', {}, true],
    ['without colour where NO_COLOR says so', { NO_COLOR: '1' }, false],
  ])('is shown %s', async (_how, env, hasColor) => {
    const { output } = await startOnTerminal('doctor', {
      args: [],
      cwd: folder.path,
      env: { PORT: '0', EMBEDDED_DB_PORT: '0', ...env },
    }).finished;
    expect(output.includes('\u001b[32m')).toBe(hasColor);
    expect(output).toContain('Nothing that is required is missing.');
  });

  it('ends with 1 for a bad value, and names it without the value', async () => {
    const { code, stdout } = await runDoctor([], { JWT_SECRET: 'too-short' });
    expect(code).toBe(1);
    expect(stdout).toMatch(/✖ variables +JWT_SECRET must have at least 32 characters\n/);
    expect(stdout).toMatch(/\n +→ correct these values\n/);
    expect(stdout).toMatch(/✖ JWT_SECRET +JWT_SECRET must have at least 32 characters\n/);
    expect(stdout).not.toContain('too-short');
    expect(stdout).toContain('To fix: variables');
  });

  it('ends with 1 beside a .env without the secret, as npm start would', async () => {
    await writeFile(join(folder.path, '.env'), 'LOG_LEVEL=info\n');
    const { code, stdout } = await runDoctor([]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/✖ INTERNAL_SECRET +not set: the server does not start\n/);
    expect(stdout).toMatch(/MCP server: tools over the network \(see INTERNAL_SECRET\)/);
  });

  it('prints JSON of a stable shape, and no secret', async () => {
    const secrets = {
      ...deploymentSecrets,
      DATABASE_URL: 'postgres://u:pass-word-7@127.0.0.1:1/x',
    };
    const { code, stdout, stderr } = await runDoctor(['--json'], secrets);
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    const found = reportShape.strict().parse(JSON.parse(stdout));
    expect(found).toMatchObject({ configuration: 'local', ok: false });
    expect(found.checks.find(({ name }) => name === 'database')).toEqual({
      name: 'database',
      status: 'failed',
      detail: expect.stringMatching(/^Postgres, 127\.0\.0\.1: .*ECONNREFUSED/),
      effect: 'prevents',
      next: 'correct DATABASE_URL, or start that database',
      latency_ms: null,
    });
    for (const secret of [...Object.values(deploymentSecrets), 'pass-word-7']) {
      expect(stdout).not.toContain(secret);
    }
  });

  it('says the words that it has of its own although a password is one of them', async () => {
    const { stdout } = await runDoctor(['--json'], { AUTH_PASSWORD: 'search by vectors' });
    const found = reportShape.parse(JSON.parse(stdout));
    expect(found.features.map(({ feature }) => feature)).toContain('search by vectors');
  });

  it('says that nothing of the server works that a bad value keeps from starting', async () => {
    const { stdout } = await runDoctor(['--json'], { SSE_MAX_DURATION_SECONDS: 'long' });
    const { features } = reportShape.parse(JSON.parse(stdout));
    expect(features.filter(({ because }) => because === 'variables')).toEqual(
      features.filter(({ surface }) => surface !== 'worker'),
    );
    expect(features).toContainEqual({
      surface: 'worker',
      feature: 'backups',
      status: 'works',
      because: null,
    });
  });

  it('fails for a damaged embedded database, and says where to read on', async () => {
    await mkdir(join(folder.path, '.data/postgres/base'), { recursive: true });
    const { code, stdout } = await runDoctor([]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/✖ database +.*is damaged \(PG_VERSION is missing\)/);
    expect(stdout).toContain('see docs/operate.md#recover-a-damaged-database');
  });

  it('takes the variables of a file alone, as deployed', async () => {
    await writeFile(
      join(folder.path, 'deploy.env'),
      `INTERNAL_SECRET="${deploymentSecrets.INTERNAL_SECRET}"\nJWT_SECRET=\n`,
    );
    const { code, stdout } = await runDoctor(['--variables', 'deploy.env'], deploymentSecrets);
    expect(code).toBe(1);
    expect(stdout).toContain(', as deployed with deploy.env\n');
    expect(stdout).toMatch(/✔ INTERNAL_SECRET +set\n/);
    expect(stdout).toMatch(/✖ JWT_SECRET +not set: nobody can log in/);
    expect(stdout).toMatch(/✖ database +DATABASE_URL is not set: /);
  });

  it('takes no secret that npm start has made for a deployment', async () => {
    await mkdir(join(folder.path, '.data'));
    await writeFile(join(folder.path, '.data/local.env'), `JWT_SECRET=${'j'.repeat(40)}\n`);
    await writeFile(join(folder.path, '.env'), `MCP_AUTH_TOKEN=${'m'.repeat(40)}\n`);
    const { stdout } = await runDoctor(['--hosted'], { CRON_SECRET: 'c'.repeat(40) });
    expect(stdout).toMatch(/✖ JWT_SECRET +not set/);
    expect(stdout).toMatch(/✔ MCP_AUTH_TOKEN +set/);
    expect(stdout).toMatch(/✔ CRON_SECRET +set/);
  });

  it.each([
    [['--frob'], 2, /Usage: npm run doctor/],
    [['--variables', 'nowhere.env'], 1, /^cannot read .*nowhere\.env: .*\n$/],
  ])('refuses %j with exit code %i', async (args, code, message) => {
    const result = await runDoctor(args);
    expect({ code: result.code, stdout: result.stdout }).toEqual({ code, stdout: '' });
    expect(result.stderr).toMatch(message);
  });
});

describe('beside a server', () => {
  let home: Awaited<ReturnType<typeof emptyFolder>>;
  let server: RunningScript & { url: string };
  beforeAll(async () => {
    home = await emptyFolder();
    server = await startIn(home.path);
  });
  afterAll(async () => {
    server.child.kill('SIGTERM');
    await server.finished;
    await home.remove();
  });
  const doctor = (env: Record<string, string> = {}) =>
    runScript('doctor', {
      args: ['--json'],
      cwd: home.path,
      env: { PORT: new URL(server.url).port, EMBEDDED_DB_PORT: '0', ...env },
    });
  const find = (stdout: string, name: string) =>
    reportShape.parse(JSON.parse(stdout)).checks.find((check) => check.name === name);

  it('finds it well, with its database', async () => {
    const { code, stdout } = await doctor();
    expect(code, stdout).toBe(0);
    expect(find(stdout, 'server')).toMatchObject({
      status: 'ok',
      detail: server.url,
      latency_ms: expect.any(Number),
    });
    expect(find(stdout, 'database')).toMatchObject({
      status: 'ok',
      detail: 'embedded, in .data, of the running server',
    });
  });

  it('tells that it runs with another secret', async () => {
    const { code, stdout } = await doctor({ INTERNAL_SECRET: 'x'.repeat(40) });
    expect(code).toBe(1);
    expect(find(stdout, 'server')).toMatchObject({
      status: 'failed',
      detail: `${server.url}: it runs with another INTERNAL_SECRET`,
    });
  });
});

describe('on this machine', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createPostgres();
  });
  afterAll(() => database.close());
  const examineHere = (environment: Record<string, string>) =>
    examineWith({ PORT: '0', DATABASE_URL: database.url, ...environment }, { isHosted: false });

  it('finds another program on the port, and sends it no secret', async () => {
    const other = await startScriptedServer(() => ({ status: 200, body: 'hello' }));
    const { report, of } = await examineHere({
      PORT: new URL(other.url).port,
      INTERNAL_SECRET: 'i'.repeat(40),
    });
    await other.close();
    expect(report.ok).toBe(false);
    expect(of('server')).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/^what listens at .* is no server of ours: /),
    });
    expect(other.received.map(({ path }) => path)).toEqual(['/health']);
    expect(JSON.stringify(other.received)).not.toContain('iiii');
  });

  it('tells a socket of the embedded database that something else has', async () => {
    const other = createServer((socket) => socket.on('error', () => undefined).end('hello'));
    other.listen(join(folder.path, '.s.PGSQL.5432'));
    await once(other, 'listening');
    const { report, of } = await examineHere({
      DATABASE_URL: '',
      DATA_DIR: folder.path,
    });
    other.close();
    expect(report.ok).toBe(false);
    expect(of('database').detail).toMatch(
      /^the socket in \S+ does not answer as our database does: /,
    );
  });

  it.each([
    ['is not there', async () => undefined, /is not there$/],
    ['is a file', (path: string) => writeFile(path, ''), /EACCES/],
  ])('fails with an archive folder that %s', async (_what, make, detail) => {
    const path = join(folder.path, 'archives');
    await make(path);
    const { report, of } = await examineHere({ BACKUP_ARCHIVE_PATH: path });
    expect(report.ok).toBe(false);
    expect(of('archives')).toMatchObject({ status: 'failed' });
    expect(of('archives').detail).toMatch(detail);
  });

  it.each([
    ['is a file', (path: string) => writeFile(path, ''), 'failed', /ENOTDIR/],
    [
      'holds what is no database',
      async (path: string) => {
        await mkdir(join(path, 'postgres'), { recursive: true });
        await writeFile(join(path, 'postgres/PG_VERSION'), '15');
      },
      'failed',
      /is of Postgres 15/,
    ],
    [
      'holds nothing yet',
      (path: string) => mkdir(join(path, 'postgres'), { recursive: true }),
      'ok',
      /made in .* by the first/,
    ],
  ])('tells of a DATA_DIR that %s, and leaves it alone', async (_what, make, status, detail) => {
    const path = join(folder.path, 'data');
    await make(path);
    const here = { DATABASE_URL: '', EMBEDDED_DB_PORT: '0', DATA_DIR: path };
    const { of } = await examineHere({ ...here, BACKUP_ARCHIVE_PATH: folder.path });
    expect(of('database')).toMatchObject({ status });
    expect(of('database').detail).toMatch(detail);
    const left = await readdir(join(path, 'postgres')).catch(() => []);
    expect(left.filter((name) => name !== 'PG_VERSION')).toEqual([]);
  });

  it('fails without git', async () => {
    const { report, of, features } = await examineHere({ PATH: folder.path });
    expect(report.ok).toBe(false);
    expect(of('git')).toMatchObject({ status: 'failed', next: 'install git 2.39.4 or newer' });
    expect(features('off')).toContain('worker: backups');
  });

  it('warns of an API that is open to all', async () => {
    const { of } = await examineHere({ API_REQUIRE_AUTH: 'false' });
    expect(of('INTERNAL_SECRET').status).toBe('warning');
  });
});
