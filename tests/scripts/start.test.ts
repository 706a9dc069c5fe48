import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { embeddedUrl } from '../../lib/database/embedded/address.ts';
import { findFreePort } from '../../scripts/free-port.ts';
import { connect } from '../support/connection.ts';
import { emptyFolder, freePorts, startIn } from '../support/local-start.ts';
import { type RunningScript, runScript } from '../support/script.ts';

let folder: Awaited<ReturnType<typeof emptyFolder>>;
const running: RunningScript[] = [];

beforeEach(async () => {
  folder = await emptyFolder();
});
afterEach(async () => {
  for (const { child, finished } of running.splice(0)) {
    child.kill('SIGKILL');
    await finished;
  }
  await folder.remove();
});

const start = async (env?: Record<string, string>, how?: { isFirst: boolean }) => {
  const script = await startIn(folder.path, env, how);
  running.push(script);
  return script;
};
const refused = (env: Record<string, string>) =>
  runScript('start', { cwd: folder.path, env: { ...freePorts, ...env } });
const localEnv = () => join(folder.path, '.data/local.env');
const bearer = (secret: string | undefined) => ({ headers: { Authorization: `Bearer ${secret}` } });

describe('npm start with nothing configured', () => {
  it('makes secrets that only their owner can read, says so, and serves with them', async () => {
    const { url, output } = await start({}, { isFirst: true });
    const secrets = parseEnv(await readFile(localEnv(), 'utf8'));
    expect(Object.keys(secrets).toSorted()).toEqual([
      'AUTH_PASSWORD',
      'AUTH_USERNAME',
      'CREDENTIALS_ENCRYPTION_KEY',
      'INTERNAL_SECRET',
      'JWT_SECRET',
      'MCP_AUTH_TOKEN',
    ]);
    expect((await stat(localEnv())).mode & 0o777).toBe(0o600);
    expect(output()).toContain('INTERNAL_SECRET');
    for (const [name, value = ''] of Object.entries(secrets)) {
      if (name !== 'AUTH_USERNAME') expect(output()).not.toContain(value);
    }

    const stats = await fetch(`${url}/api/dashboard/stats`, bearer(secrets.INTERNAL_SECRET));
    expect(stats.status).toBe(200);
    expect(await stats.json()).toMatchObject({ total_runs: 0, last_run_at: null });
    expect((await fetch(`${url}/api/dashboard/stats`)).status).toBe(401);
  });

  it('opens no port for its database, and says how its socket is used', async () => {
    const { output } = await start();
    const data = join(folder.path, '.data');
    expect(output()).toContain(`Database     embedded, in .data: psql -h ${data} -U postgres\n`);
    const client = await connect(embeddedUrl(data));
    expect((await client.query('SELECT count(*)::int AS runs FROM backup_runs')).rows).toEqual([
      { runs: 0 },
    ]);
    await client.end();
  });

  it('opens a port for its database with a password that it makes and shows', async () => {
    const port = String(await findFreePort(20_000));
    const { output } = await start({ EMBEDDED_DB_PORT: port });
    const { EMBEDDED_DB_PASSWORD } = parseEnv(await readFile(localEnv(), 'utf8'));
    expect(EMBEDDED_DB_PASSWORD).toMatch(/^[\w-]{24}$/);
    const url = `postgres://postgres:${EMBEDDED_DB_PASSWORD}@127.0.0.1:${port}/postgres`;
    expect(output()).toContain(` and at ${url}\n`);
    await (await connect(url)).end();
  });

  it('does not show a password of the database that a person chose', async () => {
    const { output } = await start({
      EMBEDDED_DB_PORT: String(await findFreePort(20_100)),
      EMBEDDED_DB_PASSWORD: 'chosen-by-hand',
    });
    expect(output()).toContain('postgres://postgres:$EMBEDDED_DB_PASSWORD@127.0.0.1:');
    expect(output()).not.toContain('chosen-by-hand');
  });

  it('makes the default archive folder for its owner alone, and none that is configured', async () => {
    const { child, finished } = await start();
    expect((await stat(join(folder.path, '.data/archives'))).mode & 0o777).toBe(0o700);
    child.kill('SIGTERM');
    await finished;
    const elsewhere = join(folder.path, 'elsewhere');
    await start({ BACKUP_ARCHIVE_PATH: elsewhere });
    await expect(stat(elsewhere)).rejects.toThrow('ENOENT');
  });

  it('stops on SIGTERM with exit code 0, and keeps its secrets and data over a restart', async () => {
    const first = await start();
    const secrets = await readFile(localEnv(), 'utf8');
    first.child.kill('SIGTERM');
    expect((await first.finished).code).toBe(0);

    const second = await start();
    expect(await readFile(localEnv(), 'utf8')).toBe(secrets);
    expect((await fetch(`${second.url}/ready`)).status).toBe(200);
  });

  it('starts again at once after SIGKILL', async () => {
    const first = await start();
    first.child.kill('SIGKILL');
    await first.finished;
    const second = await start();
    expect((await fetch(`${second.url}/ready`)).status).toBe(200);
  });

  it('refuses a second server on the same DATA_DIR in one line', async () => {
    await start();
    const { code, stderr } = await refused({});
    expect(code).toBe(1);
    expect(stderr).toMatch(/^[^\n]*DATA_DIR[^\n]*\n$/);
  });
});

describe('npm start with a configuration', () => {
  it('refuses an INTERNAL_SECRET below 32 characters in one line without its value', async () => {
    const secret = 'only-thirty-one-characters-long';
    const { code, stderr, stdout } = await refused({ INTERNAL_SECRET: secret });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^INTERNAL_SECRET [^\n]*32 characters[^\n]*\n$/);
    expect(stdout + stderr).not.toContain(secret);
  });

  it('takes a short one, with a warning, while API_REQUIRE_AUTH is false', async () => {
    const { url, output } = await start({ INTERNAL_SECRET: 'short', API_REQUIRE_AUTH: 'false' });
    expect((await fetch(`${url}/api/backups`)).status).toBe(200);
    expect(output()).toMatch(/"level":"warn".*API_REQUIRE_AUTH/);
  });

  it('makes up nothing beside a .env', async () => {
    await writeFile(join(folder.path, '.env'), 'API_REQUIRE_AUTH=false\n');
    await start();
    await expect(stat(localEnv())).rejects.toThrow('ENOENT');
  });

  it('prefers the process environment to .env', async () => {
    await writeFile(join(folder.path, '.env'), 'API_REQUIRE_AUTH=false\nLOG_LEVEL=loud\n');
    const { url } = await start({ LOG_LEVEL: 'error' });
    expect((await fetch(`${url}/api/backups`)).status).toBe(200);
  });

  it('says in one line that the port of the embedded database needs a password', async () => {
    await writeFile(join(folder.path, '.env'), `INTERNAL_SECRET=${'s'.repeat(40)}\n`);
    const { code, stderr } = await refused({ EMBEDDED_DB_PORT: '1024' });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^EMBEDDED_DB_PASSWORD must be set while EMBEDDED_DB_PORT is[^\n]*\n$/);
  });

  it('says in one line what to do about a damaged DATA_DIR', async () => {
    await mkdir(join(folder.path, '.data/postgres'), { recursive: true });
    await writeFile(join(folder.path, '.data/postgres/pg_hba.conf'), '');
    const { code, stderr } = await refused({});
    expect(code).toBe(1);
    expect(stderr).toMatch(/^the embedded database in [^\n]*Move that folder aside[^\n]*\n$/);
  });

  it('refuses to start without a secret beside a .env that has none', async () => {
    await writeFile(join(folder.path, '.env'), 'LOG_LEVEL=info\n');
    const { code, stderr } = await refused({});
    expect(code).toBe(1);
    expect(stderr).toMatch(/^INTERNAL_SECRET [^\n]*\n$/);
  });

  it.each([
    ['PORT', '70000'],
    ['PORT', 'eighty'],
    ['STALE_RUN_AFTER_MINUTES', '-1'],
    ['DATABASE_URL', 'mysql://localhost/x'],
    ['TRUSTED_PROXIES', '10.0.0.0/8,nonsense'],
    ['LOG_LEVEL', 'loud'],
    ['JWT_SECRET', 'too-short'],
    ['CRON_SECRET', 'too-short'],
    ['MCP_AUTH_TOKEN', 'too-short'],
    ['AUTH_PASSWORD', 'too-short'],
    ['BACKEND_URL', 'http://backend.example'],
    ['CREDENTIALS_ENCRYPTION_KEY', 'no-key'],
  ])('names a bad %s in one line without its value %s', async (name, value) => {
    const { code, stderr } = await refused({ [name]: value });
    expect(code).toBe(1);
    expect(stderr).toMatch(new RegExp(`^${name} [^\\n]*\\n$`));
    expect(stderr).not.toContain(value);
  });

  it('refuses a git that is too old in one line', async () => {
    const git = join(folder.path, 'git');
    await writeFile(git, '#!/bin/sh\necho git version 2.39.3\n', { mode: 0o755 });
    const { code, stderr } = await refused({ PATH: folder.path });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'found git version 2.39.3, which is too old: install git 2.39.4 or newer\n',
    });
  });

  it('says in one line that a port is taken', async () => {
    const { url } = await start();
    const other = await emptyFolder();
    const { code, stderr } = await runScript('start', {
      cwd: other.path,
      env: { ...freePorts, PORT: new URL(url).port },
    });
    await other.remove();
    expect(code).toBe(1);
    expect(stderr).toMatch(/^[^\n]*PORT[^\n]*\n$/);
  });

  it('says in one line that DATABASE_URL does not answer, without its password', async () => {
    const { code, stderr } = await refused({
      DATABASE_URL: 'postgres://somebody:pass-word@127.0.0.1:1/none',
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(/^[^\n]*database[^\n]*\n$/);
    expect(stderr).not.toContain('pass-word');
  });
});

describe('the request that npm start prints can be pasted', () => {
  const secret = 'a-secret-that-is-long-enough-for-anyone';
  const paste = async (output: string, env: Record<string, string> = {}) => {
    const [, command = 'false'] = /^ +(curl .*)$/m.exec(output) ?? [];
    expect(command).not.toContain(secret);
    const { stdout } = await execa(command, { cwd: folder.path, shell: true, env });
    return JSON.parse(stdout);
  };

  it.each<[string, string | null, Record<string, string>]>([
    ['after a first start', null, {}],
    ['with a secret of the environment', null, { INTERNAL_SECRET: secret }],
    ['with a DATA_DIR that needs quotes', null, { DATA_DIR: "it's mine" }],
    ['with a secret in .env', `INTERNAL_SECRET="${secret}"\n`, {}],
    ['with no secret at all', 'API_REQUIRE_AUTH=false\n', {}],
  ])('%s', async (_when, dotEnv, env) => {
    if (dotEnv !== null) await writeFile(join(folder.path, '.env'), dotEnv);
    const { output } = await start(env);
    expect(await paste(output(), env)).toHaveProperty('total_runs', 0);
  });

  it('beside a .env that came after the secrets were made', async () => {
    const first = await start();
    first.child.kill('SIGTERM');
    await first.finished;
    await writeFile(join(folder.path, '.env'), 'LOG_LEVEL=info\n');
    const { output } = await start();
    expect(await paste(output())).toHaveProperty('total_runs', 0);
  });
});
