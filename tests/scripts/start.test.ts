import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { execa } from 'execa';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { embeddedUrl } from '../../lib/database/embedded/address.ts';
import { findFreePort } from '../../scripts/free-port.ts';
import { connect } from '../support/connection.ts';
import { useDatabase } from '../support/hooks.ts';
import { emptyFolder, freePorts, startIn } from '../support/local-start.ts';
import { type RunningScript, runScript } from '../support/script.ts';

type Folder = Awaited<ReturnType<typeof emptyFolder>>;

const bearer = (secret: string | undefined) => ({ headers: { Authorization: `Bearer ${secret}` } });
const statusOf = async (url: string, init?: RequestInit) => (await fetch(url, init)).status;

async function kill({ child, finished }: RunningScript, signal: NodeJS.Signals) {
  child.kill(signal);
  return finished;
}

/** Runs the request printed by `npm start`, in its folder. */
async function paste(output: string, { path: cwd }: Folder, env: Record<string, string> = {}) {
  const [, command = 'false'] = /^ +(curl .*)$/m.exec(output) ?? [];
  const { stdout } = await execa(command, { cwd, shell: true, env });
  return { command, answer: JSON.parse(stdout) };
}

describe('npm start with nothing configured', () => {
  let folder: Folder;
  let server: Awaited<ReturnType<typeof startIn>>;
  const inData = (name: string) => join(folder.path, '.data', name);
  const readSecrets = async () => parseEnv(await readFile(inData('local.env'), 'utf8'));

  beforeAll(async () => {
    folder = await emptyFolder();
    server = await startIn(folder.path, {}, { isFirst: true });
  });
  afterAll(async () => {
    await kill(server, 'SIGKILL');
    await folder.remove();
  });

  it('generates secrets that only their owner can read, says so, and uses them', async () => {
    const { url, output } = server;
    const secrets = await readSecrets();
    expect(Object.keys(secrets).toSorted()).toEqual([
      'AUTH_PASSWORD',
      'AUTH_USERNAME',
      'CREDENTIALS_ENCRYPTION_KEY',
      'INTERNAL_SECRET',
      'JWT_SECRET',
      'MCP_AUTH_TOKEN',
    ]);
    expect((await stat(inData('local.env'))).mode & 0o777).toBe(0o600);
    expect(output()).toContain('INTERNAL_SECRET');
    for (const [name, value = ''] of Object.entries(secrets)) {
      if (name !== 'AUTH_USERNAME') expect(output()).not.toContain(value);
    }

    const stats = await fetch(`${url}/api/dashboard/stats`, bearer(secrets.INTERNAL_SECRET));
    expect(stats.status).toBe(200);
    expect(await stats.json()).toMatchObject({ total_runs: 0, last_run_at: null });
    expect(await statusOf(`${url}/api/dashboard/stats`)).toBe(401);
  });

  it('prints a request that can be pasted', async () => {
    const { answer } = await paste(server.output(), folder);
    expect(answer).toHaveProperty('total_runs', 0);
  });

  it('opens no port for its database, and says how to use its socket', async () => {
    const data = join(folder.path, '.data');
    expect(server.output()).toContain(
      `Database     embedded, in .data: psql -h ${data} -U postgres\n`,
    );
    const client = await connect(embeddedUrl(data));
    expect((await client.query('SELECT count(*)::int AS runs FROM backup_runs')).rows).toEqual([
      { runs: 0 },
    ]);
    await client.end();
  });

  it('creates the default archive folder, which only its owner can access', async () => {
    expect((await stat(inData('archives'))).mode & 0o777).toBe(0o700);
  });

  it('rejects a second server on the same DATA_DIR in one line', async () => {
    const { code, stderr } = await runScript('start', { cwd: folder.path, env: freePorts });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^[^\n]*DATA_DIR[^\n]*\n$/);
  });

  it('stops on SIGTERM with exit code 0, and keeps its secrets and data across a restart', async () => {
    const secrets = await readSecrets();
    expect((await kill(server, 'SIGTERM')).code).toBe(0);
    const port = String(await findFreePort(20_000));
    const elsewhere = join(folder.path, 'elsewhere');
    server = await startIn(folder.path, {
      EMBEDDED_DB_PORT: port,
      BACKUP_ARCHIVE_PATH: elsewhere,
    });
    expect(await statusOf(`${server.url}/ready`)).toBe(200);

    // With a port there is one more secret: the database's password, which is generated and shown.
    const { EMBEDDED_DB_PASSWORD, ...kept } = await readSecrets();
    expect(kept).toEqual(secrets);
    expect(EMBEDDED_DB_PASSWORD).toMatch(/^[\w-]{43}$/);
    const url = `postgres://postgres:${EMBEDDED_DB_PASSWORD}@127.0.0.1:${port}/postgres`;
    expect(server.output()).toContain(` and at ${url}\n`);
    await (await connect(url)).end();
    // A configured archive folder is not created.
    await expect(stat(elsewhere)).rejects.toThrow('ENOENT');
  });

  it('starts again immediately after SIGKILL, even next to a newly added .env', async () => {
    await kill(server, 'SIGKILL');
    await writeFile(join(folder.path, '.env'), 'LOG_LEVEL=info\n');
    server = await startIn(folder.path, {
      EMBEDDED_DB_PORT: String(await findFreePort(20_100)),
      EMBEDDED_DB_PASSWORD: 'chosen-by-hand'.repeat(3),
    });
    expect(await statusOf(`${server.url}/ready`)).toBe(200);
    expect((await paste(server.output(), folder)).answer).toHaveProperty('total_runs', 0);
    // A database password that a person chose is not shown.
    expect(server.output()).toContain('postgres://postgres:$EMBEDDED_DB_PASSWORD@127.0.0.1:');
    expect(server.output()).not.toContain('chosen-by-hand');
  });
});

describe('npm start for other machines', () => {
  it.each([
    ['0.0.0.0', 'IPv4'],
    ['::', null],
  ])('on HOST %s prints a login link for each address of this machine', async (HOST, family) => {
    const folder = await emptyFolder();
    const server = await startIn(folder.path, { HOST });
    const outer = Object.values(networkInterfaces())
      .flatMap((found) => found ?? [])
      .filter((it) => !it.internal && !/^fe80:/i.test(it.address))
      .filter((it) => family === null || it.family === family)
      .map((it) => (it.family === 'IPv6' ? `[${it.address}]` : it.address));
    const { port } = new URL(server.url);
    const code = /login#(\S+)/.exec(server.output())?.[1];
    for (const address of outer) {
      const link = `http://${address}:${port}/app/login#${code}`;
      expect(server.output()).toContain(`\n  ${link}\n`);
      expect(await statusOf(new URL('/health', link).href)).toBe(200);
    }
    expect(server.output().includes('Plain http can be read by others')).toBe(outer.length > 0);
    if (outer.length > 0) {
      expect(server.output()).toContain(`ssh -N -L ${port}:127.0.0.1:${port} `);
    }
    await kill(server, 'SIGINT');
    await folder.remove();
  });
});

describe('npm start with a configuration', () => {
  const secret = 'a-secret-that-is-long-enough-for-anyone';
  const database = useDatabase();
  let folder: Folder;
  const running: RunningScript[] = [];

  beforeEach(async () => {
    folder = await emptyFolder();
  });
  afterEach(async () => {
    for (const script of running.splice(0)) await kill(script, 'SIGKILL');
    await folder.remove();
  });

  /** Without the embedded database, which takes longer to start. */
  const start = async (env: Record<string, string> = {}) => {
    const script = await startIn(folder.path, { DATABASE_URL: database.url, ...env });
    running.push(script);
    return script;
  };
  const refused = (env: Record<string, string>) =>
    runScript('start', { cwd: folder.path, env: { ...freePorts, ...env } });

  it('rejects an INTERNAL_SECRET below 32 characters in one line without its value', async () => {
    const short = 'only-thirty-one-characters-long';
    const { code, stderr, stdout } = await refused({ INTERNAL_SECRET: short });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^INTERNAL_SECRET [^\n]*32 characters[^\n]*\n$/);
    expect(stdout + stderr).not.toContain(short);
  });

  it('accepts a short INTERNAL_SECRET, with a warning, if API_REQUIRE_AUTH is false', async () => {
    const { url, output } = await start({ INTERNAL_SECRET: 'short', API_REQUIRE_AUTH: 'false' });
    expect(await statusOf(`${url}/api/backups`)).toBe(200);
    expect(output()).toMatch(/"level":"warn".*API_REQUIRE_AUTH/);
  });

  it('generates nothing if there is a .env, and prefers the process environment over it', async () => {
    await writeFile(join(folder.path, '.env'), 'API_REQUIRE_AUTH=false\nLOG_LEVEL=loud\n');
    const { url, output } = await start({ LOG_LEVEL: 'error' });
    expect(await statusOf(`${url}/api/backups`)).toBe(200);
    expect((await paste(output(), folder)).answer).toHaveProperty('total_runs', 0);
    await expect(stat(join(folder.path, '.data/local.env'))).rejects.toThrow('ENOENT');
  });

  it.each<[string, string | null, Record<string, string>]>([
    ['with a secret of the environment', null, { INTERNAL_SECRET: secret }],
    ['with a DATA_DIR that needs quotes', null, { DATA_DIR: "it's mine" }],
    ['with a secret in .env', `INTERNAL_SECRET="${secret}"\n`, {}],
  ])('prints a request that can be pasted, %s', async (_when, dotEnv, env) => {
    if (dotEnv !== null) await writeFile(join(folder.path, '.env'), dotEnv);
    const { output } = await start(env);
    const { command, answer } = await paste(output(), folder, env);
    expect(command).not.toContain(secret);
    expect(answer).toHaveProperty('total_runs', 0);
  });

  it('says in one line that the port of the embedded database needs a password', async () => {
    await writeFile(join(folder.path, '.env'), `INTERNAL_SECRET=${'s'.repeat(40)}\n`);
    const { code, stderr } = await refused({ EMBEDDED_DB_PORT: '1024' });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^EMBEDDED_DB_PASSWORD must be set, [^\n]* if EMBEDDED_DB_PORT is[^\n]*\n$/,
    );
  });

  it('says in one line what to do about a damaged DATA_DIR', async () => {
    await mkdir(join(folder.path, '.data/postgres'), { recursive: true });
    await writeFile(join(folder.path, '.data/postgres/pg_hba.conf'), '');
    const { code, stderr } = await refused({});
    expect(code).toBe(1);
    expect(stderr).toMatch(/^the embedded database in [^\n]*Move that folder aside[^\n]*\n$/);
  });

  it('refuses to start without a secret next to a .env that has none', async () => {
    await writeFile(join(folder.path, '.env'), 'LOG_LEVEL=info\n');
    const { code, stderr } = await refused({});
    expect(code).toBe(1);
    expect(stderr).toMatch(/^INTERNAL_SECRET [^\n]*\n$/);
  });

  // tests/config/ covers what each variable rejects.
  it.each([
    ['PORT', 'eighty'],
    ['DATABASE_URL', 'mysql://localhost/x'],
    ['CREDENTIALS_ENCRYPTION_KEY', 'no-key'],
  ])('reports an invalid %s in one line without its value %s', async (name, value) => {
    const { code, stderr } = await refused({ [name]: value });
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^${name} [^\\n]*\\n$`));
    expect(stderr).not.toContain(value);
  });

  it('rejects a git version that is too old in one line', async () => {
    const git = join(folder.path, 'git');
    await writeFile(git, '#!/bin/sh\necho git version 2.39.3\n', { mode: 0o755 });
    const { code, stderr } = await refused({ PATH: folder.path });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'found git version 2.39.3, which is too old: install git 2.39.4 or newer\n',
    });
  });

  it('says in one line that a port is in use', async () => {
    const { url } = await start();
    const other = await emptyFolder();
    const { code, stderr } = await runScript('start', {
      cwd: other.path,
      env: { DATABASE_URL: database.url, LOG_LEVEL: 'error', PORT: new URL(url).port },
    });
    await other.remove();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^[^\n]*PORT[^\n]*\n$/);
  });

  it('says in one line that the database does not respond, without its password', async () => {
    const { code, stderr } = await refused({
      DATABASE_URL: 'postgres://somebody:pass-word@127.0.0.1:1/none',
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^[^\n]*database[^\n]*\n$/);
    expect(stderr).not.toContain('pass-word');
  });
});
