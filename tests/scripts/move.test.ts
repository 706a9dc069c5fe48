import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { openEmbeddedDatabase } from '../../lib/database/embedded/open.ts';
import { createPostgres, silentLog, type TestDatabase } from '../support/databases.ts';
import { copyTemplate } from '../support/embedded-templates.ts';
import { useSharedFolder } from '../support/folders.ts';
import { insertRun, sql } from '../support/records.ts';
import { runScript } from '../support/script.ts';
import { startOnTerminal } from '../support/terminal.ts';

const folder = useSharedFolder();
let target: TestDatabase;

const openEmbedded = () =>
  openEmbeddedDatabase({
    dataDir: join(folder, 'data'),
    listen: null,
    log: silentLog,
    clock: systemClock,
  });

beforeAll(async () => {
  copyTemplate(inject('embeddedTemplates'), join(folder, 'data'), 'migrated');
  const db = await openEmbedded();
  await insertRun(db, { status: 'completed' });
  await sql(
    db,
    "INSERT INTO gateway_connections (username, encrypted_key, key_hint) VALUES ('ada', 'v1.x', '…x')",
  );
  await db.close();
});
beforeEach(async () => {
  target = await createPostgres({ migrated: false });
});
afterEach(() => target.close());

const runMove = (
  stdin: string,
  { args = [], env = {} }: { args?: string[]; env?: Record<string, string> } = {},
) => runScript('move', { args, stdin, cwd: folder, env: { DATA_DIR: 'data', ...env } });

describe('npm run move', () => {
  it('moves the embedded database into an empty one, and prints what it moved but not the address', async () => {
    const { code, stdout, stderr } = await runMove(`${target.url}\n`);
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^moving the embedded database in data to 127\.0\.0\.1:\d+\/test_\w+\nembeddings are not copied, .*\ncomparing\n$/,
      ),
    });
    expect(stdout).toMatch(/^table +rows\nbackup_runs +1\nbackup_results +0\n/);
    expect(stdout).toContain('Both databases are identical. From now on, set DATABASE_URL');
    expect(stdout).toContain('Keep CREDENTIALS_ENCRYPTION_KEY');
    expect(stdout + stderr).not.toContain(new URL(target.url).password || target.url);
    expect(await sql(target.db, 'SELECT id, status FROM backup_runs')).toEqual([
      { id: 1, status: 'completed' },
    ]);

    const again = await runMove(`${target.url}\n`);
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toMatch(/\nthe target is not empty: it has rows in backup_runs, /);
  });

  it('moves the database of DATABASE_URL', async () => {
    const from = await createPostgres();
    await insertRun(from.db, { status: 'failed' });
    const { code, stderr } = await runMove(target.url, { env: { DATABASE_URL: from.url } });
    await from.close();
    expect(stderr).toMatch(/^moving the database of DATABASE_URL to /);
    expect(code).toBe(0);
    expect(await sql(target.db, 'SELECT status FROM backup_runs')).toEqual([{ status: 'failed' }]);
  });

  it('refuses to start while a server uses the database, because it could write meanwhile', async () => {
    const running = await openEmbedded();
    const { code, stderr } = await runMove(target.url);
    await running.close();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^DATA_DIR is in use by another process: process \d+ \(.+\), since \S+\. Stop it .+\n$/,
      ),
    });
  });

  it.each([
    ['nothing', async () => undefined, []],
    ['a file', (path: string) => writeFile(path, ''), []],
    [
      'an empty folder',
      (path: string) => mkdir(join(path, 'postgres'), { recursive: true }),
      ['postgres'],
    ],
  ])('does not create a database if there is %s', async (_what, make, left) => {
    const path = join(folder, 'other');
    await make(path);
    const { code, stderr } = await runMove(target.url, { env: { DATA_DIR: 'other' } });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'there is no embedded database in other\n',
    });
    expect(await readdir(path, { recursive: true }).catch(() => [])).toEqual(left);
    await rm(path, { recursive: true, force: true });
  });

  it('reports which side does not respond, without its password', async () => {
    const { code, stdout, stderr } = await runMove('postgres://grace:hidden-word@127.0.0.1:1/x\n');
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^the target: the database is unavailable: .*ECONNREFUSED.*\n$/);
    expect(stderr).not.toContain('hidden-word');
  });

  it.each([
    ['no address', '', []],
    ['an invalid address', 'mysql://grace:hidden-word@127.0.0.1/x\n', []],
    ['an address among the arguments', '', ['postgres://grace:hidden-word@127.0.0.1/x']],
  ])('rejects %s with exit code 2 and without repeating it', async (_what, stdin, args) => {
    const { code, stdout, stderr } = await runMove(stdin, { args });
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^the target must be|^too many arguments/);
    expect(stderr).not.toContain('hidden-word');
  });

  it('prompts for the address on a terminal, and does not show it', async () => {
    const { waitFor, type, finished } = startOnTerminal('move', {
      args: [],
      cwd: folder,
      env: { DATABASE_URL: 'postgres://127.0.0.1:1/x' },
    });
    await waitFor(/URL of the target/);
    type('postgres://grace:hidden-word@127.0.0.1:1/y\r');
    const { code, output } = await finished;
    expect(code).toBe(1);
    expect(output).toContain('the source: the database is unavailable');
    expect(output).not.toMatch(/grace|hidden-word/);
  });

  it('prints its help', async () => {
    const { code, stdout } = await runMove('', { args: ['--help'] });
    expect(code).toBe(0);
    expect(stdout).toContain('Usage: npm run move');
  });
});
