import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createEmbedded, createPostgres } from '../support/databases.ts';
import { useSharedFolder } from '../support/folders.ts';
import { runScript } from '../support/script.ts';

const folder = useSharedFolder();

const runMigrate = (env: Record<string, string>, args: string[] = []) =>
  runScript('migrate', { args, cwd: folder, env });

const applied = /received \d+ migrations\n$/;

describe('npm run migrate', () => {
  it('migrates the database of DATABASE_URL, and reports when there is nothing to do', async () => {
    const database = await createPostgres({ migrated: false });
    const env = { DATABASE_URL: database.url };
    const withoutVectors =
      'search uses only full text: the vector extension is not installed on this database server\n';
    const first = await runMigrate(env);
    expect(first).toMatchObject({ code: 0, stderr: withoutVectors });
    expect(first.stdout).toMatch(applied);
    expect(first.stdout).toMatch(/^the database of DATABASE_URL /);
    const rows = await database.db.query({
      text: 'SELECT count(*)::int AS count FROM backup_runs',
    });
    expect(rows).toEqual([{ count: 0 }]);
    expect(await runMigrate(env)).toEqual({
      code: 0,
      stdout: 'the database of DATABASE_URL is up to date\n',
      stderr: withoutVectors,
    });
    await database.close();
  });

  it('migrates the embedded database in DATA_DIR if no server runs', async () => {
    const env = { DATA_DIR: join(folder, 'data') };
    const first = await runMigrate(env);
    expect(first).toMatchObject({ code: 0, stderr: '' });
    expect(first.stdout).toMatch(applied);
    expect((await runMigrate(env)).stdout).toBe('the embedded database in data is up to date\n');
  });

  it('migrates the embedded database of a running server through its socket', async () => {
    const { db: running, dataDir, close } = await createEmbedded({ migrated: false });
    const result = await runMigrate({ DATA_DIR: dataDir });
    expect(result).toMatchObject({ code: 0, stderr: '' });
    expect(result.stdout).toMatch(/^the embedded database of the running server /);
    const rows = await running.query({ text: 'SELECT count(*)::int AS count FROM backup_runs' });
    expect(rows).toEqual([{ count: 0 }]);
    await close();
  });

  it.each([
    {
      fault: 'a database that does not respond',
      env: { DATABASE_URL: 'postgres://someone:hidden@127.0.0.1:1/postgres' },
      line: /^the database is unavailable: .*ECONNREFUSED.*\n$/,
    },
    {
      fault: 'an invalid value',
      env: { DATABASE_URL: 'mysql://someone:hidden@127.0.0.1/db' },
      line: /^DATABASE_URL must be a postgres:\/\/ URL\n$/,
    },
  ])('reports $fault in one line on stderr, with exit code 1', async ({ env, line }) => {
    const { code, stdout, stderr } = await runMigrate(env);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(line);
    expect(stderr).not.toContain('hidden');
  });

  it('rejects unknown arguments with exit code 2', async () => {
    const { code, stderr } = await runMigrate({}, ['--down']);
    expect(code).toBe(2);
    expect(stderr).toContain('Usage: npm run migrate');
  });
});
