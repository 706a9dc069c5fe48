import { copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import { examineWith } from '../support/doctor.ts';
import { useEmptyLedger } from '../support/drills.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { createRepository } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty } from '../support/records.ts';
import { callWorker, rowsOf } from '../support/worker.ts';

const database = useDatabase();
const folder = useTemporaryFolder();
const archives = join(folder, 'archives');
const away = join(folder, 'archives-away');
const store = join(folder, 'store');

useEmptyLedger(database);

const call = (args: string[], env: Record<string, string> = {}) =>
  callWorker({ databaseUrl: database.url, archives, folder, args, env });
/** What a command says that ends with 1. */
async function failureOf(args: string[]): Promise<string> {
  try {
    const { code, stdout, stderr } = await call(args);
    expect(code).toBe(1);
    return `${stdout}${stderr}`;
  } catch (error) {
    expect(error).toBeInstanceOf(AppError);
    return (error as AppError).message;
  }
}
const run = (...sources: string[]) =>
  call(['run', ...sources.flatMap((source) => ['--source', source])]);
const doctor = async () => {
  const environment = {
    ...{ PORT: '0', INTERNAL_SECRET: 'i'.repeat(40), DATABASE_URL: database.url },
    ...{ DATA_DIR: `${archives}-data`, BACKUP_ARCHIVE_PATH: archives },
  };
  return (await examineWith(environment, { isHosted: false })).of('recorded_archives');
};
const drills = () => rowsOf(database.db, 'SELECT outcome, reason FROM restore_drills');

beforeEach(async () => {
  await empty(database.db);
  for (const name of ['a', 'b']) {
    const repository = await createRepository(join(folder, name));
    await repository.commit({ 'a.txt': name });
  }
});

describe.each([
  ['missing', async () => undefined],
  ['empty', () => mkdir(archives)],
])('an archive folder that is %s although archives are recorded', (_, make) => {
  beforeEach(async () => {
    await run('a', 'b');
    await rename(archives, away);
    await make();
  });

  it.each([
    ['restore', '--all', '--to', 'restored'],
    ['restore', 'local/a', '--to', 'restored'],
    ['versions'],
    ['versions', 'local/a'],
    ['versions', '--json'],
  ])('fails %s %s with the reason', async (...args) => {
    const said = await failureOf(args);
    expect(said).toMatch(/mounted/);
    expect(said).toContain('BACKUP_ARCHIVE_PATH');
  });

  it('stops drills, and records nothing about an archive', async () => {
    for (const which of [['--all'], ['--repo', 'local/a']]) {
      const { code, stdout } = await call(['drill', ...which]);
      expect({ code, stdout }).toEqual({
        code: 1,
        stdout: expect.stringContaining('has none of its archives: is its disk mounted?'),
      });
    }
    expect(await drills()).toEqual([]);
  });

  it('fails the doctor', async () => {
    expect(await doctor()).toMatchObject({
      status: 'failed',
      detail: `${archives} has none of the 2 archives that the database records`,
    });
  });
});

it('the doctor names archives that are gone, until they are back', async () => {
  expect(await doctor()).toMatchObject({ status: 'off' });
  await run('a', 'b');
  expect(await doctor()).toMatchObject({ status: 'ok' });
  const bundle = join(archives, 'local__b.bundle');
  await rename(bundle, away);
  expect(await doctor()).toMatchObject({
    status: 'failed',
    detail: `1 of 2 archives are not in ${archives}: local/b`,
  });
  await rename(away, bundle);
  expect(await doctor()).toMatchObject({ status: 'ok' });
});

it('an empty folder is no failure before the first run', async () => {
  await mkdir(archives);
  expect(await call(['versions'])).toMatchObject({ code: 0 });
  const said = await failureOf(['restore', '--all', '--to', 'restored']);
  expect(said).toContain(`there is no archive in ${archives}`);
});

describe('versions', () => {
  beforeEach(async () => {
    await run('a', 'b');
  });

  it.each<[string, string, (path: string) => Promise<void>]>([
    ['local__a.versions/1.json', 'is missing', (path) => rm(path)],
    ['local__a.versions/1.json', 'its SHA-256 is', (path) => writeFile(path, '{}')],
    ['local__a.bundle', 'has another size', (path) => writeFile(path, 'x')],
    ['local__a.bundle.json', 'is missing or not valid', (path) => rm(path)],
  ])('tells that of %s: %s', async (name, fault, damage) => {
    await damage(join(archives, name));
    for (const args of [['versions'], ['versions', 'local/a'], ['versions', '--json']]) {
      const { code, stdout } = await call(args);
      expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringContaining(fault) });
      expect(stdout).toContain(name);
    }
    expect(await call(['versions', 'local/b'])).toMatchObject({ code: 0 });
  });

  it("calls nothing gone that is another repository's", async () => {
    const note = (name: string) => join(archives, `local__${name}.bundle.json`);
    await copyFile(note('b'), note('a'));
    const said = await failureOf(['versions', 'local/a']);
    expect(said).toContain('local__a.bundle is the archive of local/b');
    expect(said).not.toContain('is gone');
  });

  it('does not say of an archive without its note that it cannot be restored', async () => {
    await rm(join(archives, 'local__a.bundle.json'));
    expect((await call(['versions', 'local/a'])).stdout).not.toContain('cannot be restored');
    expect((await call(['restore', 'local/a', '--to', 'restored'])).code).toBe(0);
  });

  it('of an archive that is gone says where a copy is', async () => {
    await mkdir(store);
    const address = `file://${store}`;
    await call(['run', '--source', 'a', '--source', 'b'], { BACKUP_STORES: address });
    await rm(join(archives, 'local__a.bundle'));
    for (const args of [['versions'], ['restore', '--to', 'restored']]) {
      const [command = '', ...options] = args;
      const said = await failureOf([command, 'local/a', ...options]);
      expect(said).toContain(`restore local/a --from ${address} --to FOLDER`);
    }
  });
});

describe('a folder store', () => {
  const env = { BACKUP_STORES: `file://${store}` };
  const drill = () => call(['drill', '--all'], env);

  beforeEach(async () => {
    await mkdir(store);
    await call(['run', '--source', 'a'], env);
  });

  it.each([
    ['is not there', () => Promise.resolve()],
    ['is an empty mount point', () => mkdir(store)],
  ])('that %s makes a drill incomplete', async (_, make) => {
    await rename(store, `${store}-away`);
    await make();
    const { code, stdout } = await drill();
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/^incomplete/) });
    expect(await drills()).toEqual([
      { outcome: 'incomplete', reason: expect.stringMatching(/mounted\?$/) },
    ]);
    await rm(store, { recursive: true, force: true });
    await rename(`${store}-away`, store);
    expect((await drill()).stdout).toMatch(/^proven/);
  });

  it('that lost its archives fails a drill', async () => {
    await rm(join(store, 'archives'), { recursive: true });
    expect((await drill()).stdout).toMatch(/^FAILED/);
  });

  it('has nothing to restore while it is empty, and says so', async () => {
    await rm(store, { recursive: true });
    await mkdir(store);
    const args = ['restore', '--all', '--from', env.BACKUP_STORES, '--to', 'restored'];
    expect(await failureOf(args)).toContain(`there is no archive in ${env.BACKUP_STORES}`);
  });

  it('names the archive of another address when it has none of a name', async () => {
    const second = await createRepository(join(folder, 'elsewhere', 'a'));
    await second.commit({ 'a.txt': 'other' });
    const { stderr: said } = await call(['run', '--source', second.path], env);
    const [, name = ''] = /backed up as (local\/a--[0-9a-f]{8})/.exec(said) ?? [];
    await rm(join(store, 'archives', 'local__a'), { recursive: true });
    const args = ['restore', 'local/a', '--from', env.BACKUP_STORES, '--to', 'restored'];
    expect(await failureOf(args)).toContain(
      `has no archive of local/a: there is one of ${name}, which was read from ${second.path}`,
    );
  });
});
