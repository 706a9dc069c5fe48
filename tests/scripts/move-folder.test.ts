import { createHash } from 'node:crypto';
import {
  chmod,
  copyFile,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { basename, join } from 'node:path';
import { beforeEach, describe, expect, inject, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { openEmbeddedDatabase } from '../../lib/database/embedded/open.ts';
import { takeMachineLease } from '../../lib/worker/archive/lease/machine-lease.ts';
import { packInstallation } from '../../scripts/move/pack.ts';
import { readPackManifest } from '../../scripts/move/packed-files.ts';
import { silentLog } from '../support/databases.ts';
import { copyTemplate } from '../support/embedded-templates.ts';
import { useTemporaryFolder } from '../support/folders.ts';
import { createMemoryKeychain } from '../support/keychain.ts';
import { insertRun, sql } from '../support/records.ts';
import { runScript } from '../support/script.ts';

// An installation is packed on one machine, and unpacked on another.

const folder = useTemporaryFolder();
const old = join(folder, 'old');
const fresh = join(folder, 'new');
const packed = join(folder, 'packed');

const move = (cwd: string, args: string[], env: Record<string, string> = {}) =>
  runScript('move', { args, cwd, env: { BACKUP_CONFIG_DIR: join(cwd, 'config'), ...env } });
const pack = (...more: string[]) => move(old, ['--to-folder', packed, ...more]);
const unpack = () => move(fresh, ['--from-folder', packed]);
const read = (...path: string[]) => readFile(join(...path), 'utf8');
const modeOf = async (...path: string[]) => (await stat(join(...path))).mode & 0o777;
const openIn = (dataDir: string) =>
  openEmbeddedDatabase({ dataDir, listen: null, log: silentLog, clock: systemClock });

const login = {
  ...{ kind: 'token', account: 'ada', host: 'https://github.com', client_id: null },
  ...{ expires_at: null, refresh_expires_at: null },
};
const inFile = { ...login, store: 'file', token: 'a token of the file', refresh_token: null };
const MODIFIED = 1_700_000_000.123;

/**
 * An installation whose archives are outside of DATA_DIR. The files of its database are few, because packing does not
 * open them: a real one has 30 MB.
 */
async function createInstallation(root: string): Promise<void> {
  const files: Record<string, string> = {
    'data/postgres/PG_VERSION': '18\n',
    'data/postgres/base/5/1259': 'a table',
    '.env': 'DATA_DIR=data\nBACKUP_ARCHIVE_PATH=kept\nINTERNAL_SECRET=x\n',
    'data/local.env': 'JWT_SECRET=y\n',
    'data/mirrors/a/HEAD': 'ref: refs/heads/main\n',
    'data/stores/nas/stored.json': '{}\n',
    'kept/ada__app.bundle': 'an archive',
    'kept/ada__app.versions/1.json': '{}\n',
    'identity.txt': 'AGE-SECRET-KEY-1\n',
    'config/app.json': '{"app":true}\n',
    'config/credentials.json': JSON.stringify({
      version: 1,
      logins: {
        'github:source': { ...login, store: 'keychain' },
        'gateway:default': inFile,
      },
    }),
  };
  for (const [path, text] of Object.entries(files)) {
    await mkdir(join(root, path, '..'), { recursive: true, mode: 0o700 });
    await writeFile(join(root, path), text);
  }
  await chmod(join(root, 'config/credentials.json'), 0o600);
  await utimes(join(root, 'kept/ada__app.bundle'), MODIFIED, MODIFIED + 0.000_25);
}

/** Gives the installation a real database, with a run. */
async function addDatabase(): Promise<void> {
  await rm(join(old, 'data/postgres'), { recursive: true });
  copyTemplate(inject('embeddedTemplates'), join(old, 'data'), 'migrated');
  const db = await openIn(join(old, 'data'));
  await insertRun(db, { status: 'completed' });
  await db.close();
}

beforeEach(async () => {
  await createInstallation(old);
  await mkdir(fresh);
});

describe('npm run move with a folder', () => {
  it('brings everything to another machine, where only its owner can read the secrets', async () => {
    await addDatabase();
    const done = await pack('--with-identity', 'identity.txt');
    expect({ code: done.code, stderr: done.stderr }).toMatchObject({ code: 0 });
    expect(done.stdout).toMatch(/^Packed \d+ files, .* into .*packed, and read them back\.\n/);
    expect(done.stdout).toContain('the secrets in the keychain (github:source)');
    expect(done.stdout).toContain('crontab -l');
    expect(done.stdout).not.toContain('a token of the file');
    expect(await modeOf(packed)).toBe(0o700);
    for (const path of ['start/.env', 'data/local.env', 'config/credentials.json']) {
      expect(await modeOf(packed, path)).toBe(0o600);
    }
    await rm(old, { recursive: true });

    const unpacked = await unpack();
    expect(unpacked).toMatchObject({ code: 0, stderr: '' });
    expect(unpacked.stdout).toContain('Each has the SHA-256 that was packed.');
    expect(await read(fresh, 'kept/ada__app.bundle')).toBe('an archive');
    expect(await read(fresh, 'kept/ada__app.versions/1.json')).toBe('{}\n');
    expect(await read(fresh, 'data/stores/nas/stored.json')).toBe('{}\n');
    expect(await read(fresh, 'config/app.json')).toBe('{"app":true}\n');
    // The note of an archive records when it was changed, in milliseconds.
    const { mtimeMs } = await stat(join(fresh, 'kept/ada__app.bundle'));
    expect(Math.floor(mtimeMs)).toBe(MODIFIED * 1_000);
    for (const path of [
      '.env',
      'config/identity.txt',
      'data/local.env',
      'config/credentials.json',
    ]) {
      expect(await modeOf(fresh, path)).toBe(0o600);
    }
    expect(JSON.parse(await read(fresh, 'config/credentials.json'))).toEqual({
      version: 1,
      logins: { 'gateway:default': inFile },
    });
    // Not in the checkout, from where it could be committed.
    await expect(stat(join(fresh, 'identity.txt'))).rejects.toThrow('ENOENT');
    expect(unpacked.stdout).toContain(join('config', 'identity.txt'));
    await expect(stat(join(fresh, 'data/mirrors'))).rejects.toThrow('ENOENT');
    const db = await openIn(join(fresh, 'data'));
    expect(await sql(db, 'SELECT status FROM backup_runs')).toEqual([{ status: 'completed' }]);
    await db.close();

    const again = await unpack();
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toContain('exists, and nothing is overwritten');
  });

  it('takes mirrors, and logins of the keychain, only when it is told to', async () => {
    const keychain = createMemoryKeychain();
    const config = join(old, 'config');
    const secrets = { token: 'a token of the keychain', refresh_token: null };
    keychain.entries.set(`github:source ${config}`, JSON.stringify(secrets));
    const said: string[] = [];
    await packInstallation({
      environment: {
        DATA_DIR: join(old, 'data'),
        BACKUP_ARCHIVE_PATH: join(old, 'kept'),
        BACKUP_CONFIG_DIR: config,
      },
      ...{ start: old, to: packed, withMirrors: true, withKeychain: true, identityFile: null },
      keychain,
      say: (text) => said.push(text),
    });
    expect(await read(packed, 'data/mirrors/a/HEAD')).toContain('refs/heads/main');
    expect(JSON.parse(await read(packed, 'config/credentials.json')).logins).toEqual({
      'github:source': { ...login, store: 'file', ...secrets },
      'gateway:default': inFile,
    });
    expect(said.join()).not.toContain('a token');
  });

  it('is refused while a server or a worker runs, on either machine', async () => {
    await addDatabase();
    const db = await openIn(join(old, 'data'));
    const withServer = await pack();
    await db.close();
    expect(withServer).toMatchObject({ code: 1, stdout: '' });
    expect(withServer.stderr).toMatch(/a running server, process \d+ \(.+\), since 20\S+Z, uses/);
    const lease = await takeMachineLease(join(old, 'data'));
    const withWorker = await pack();
    if ('release' in lease) lease.release(true);
    expect(withWorker.stderr).toMatch(/a worker, process \d+ \(.+\), since 20\S+Z, uses/);
    expect(await readdir(folder)).not.toContain('packed');
  });

  it('packs no notes of who holds a lock, such as a killed server leaves', async () => {
    const note = '{"host":"old","pid":1,"command":"npm run start","since":"2026-01-02T03:04:05Z"}';
    for (const name of ['lock.sqlite.json', 'worker.lock.json']) {
      await writeFile(join(old, 'data', name), note);
    }
    expect((await pack()).code).toBe(0);
    const names = await readdir(join(packed, 'data'));
    expect(names.filter((name) => /lock/.test(name))).toEqual([]);
    expect((await unpack()).code).toBe(0);
  });

  it.each([
    ['into a folder with something else in it', packed, 'is not empty: give a new folder'],
    ['into DATA_DIR', join(old, 'data/packed'), '--to-folder must not be in'],
    ['among the archives', join(old, 'kept/packed'), '--to-folder must not be in'],
  ])('packs nothing %s', async (_where, to, reason) => {
    await mkdir(packed);
    await writeFile(join(packed, 'somebody'), 'else');
    const { code, stderr } = await move(old, ['--to-folder', to]);
    expect(code).not.toBe(0);
    expect(stderr).toContain(reason);
    expect(await readdir(packed)).toEqual(['somebody']);
  });

  it('names a link, which it cannot move', async () => {
    await symlink(join(folder, 'elsewhere'), join(old, 'kept', 'link'));
    const { code, stderr } = await pack();
    expect(code).toBe(1);
    expect(stderr).toContain('link is a link, which cannot be moved');
  });

  it('leaves a folder that was there before, and what is in it', async () => {
    await pack();
    await mkdir(join(fresh, 'config/mine'), { recursive: true });
    await writeFile(join(packed, 'start/.env'), 'damaged');
    expect((await unpack()).stderr).toContain('.env is damaged, and nothing was unpacked');
    expect(await readdir(fresh)).toEqual(['config']);
    expect(await readdir(join(fresh, 'config'))).toEqual(['mine']);
  });

  it('packs all or nothing', async () => {
    await symlink(join(folder, 'elsewhere'), join(old, 'kept', 'link'));
    expect((await pack()).code).toBe(1);
    await expect(stat(packed)).rejects.toThrow('ENOENT');
    await mkdir(packed);
    expect((await pack()).code).toBe(1);
    expect(await readdir(packed)).toEqual([]);
  });

  it('starts over after an interruption, and does not unpack half of it', async () => {
    await mkdir(packed);
    await writeFile(join(packed, '.unfinished'), '');
    await writeFile(join(packed, 'half'), 'a file');
    const { code, stderr } = await unpack();
    expect(code).toBe(2);
    expect(stderr).toContain('is incomplete: pack it again');
    expect((await pack()).code).toBe(0);
    expect(await readdir(packed)).not.toContain('half');
    expect((await unpack()).code).toBe(0);
  });

  it.each([
    ['damaged', (path: string) => writeFile(path, 'an ARCHIVE')],
    ['damaged', (path: string) => writeFile(path, 'an archive with more')],
    ['missing', (path: string) => rm(path)],
  ])('unpacks nothing if a file is %s, and names it', async (fault, harm) => {
    await pack();
    await harm(join(packed, 'archives/ada__app.bundle'));
    const { code, stdout, stderr } = await unpack();
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain(`ada__app.bundle is ${fault}, and nothing was unpacked`);
    expect(await readdir(fresh)).toEqual([]);
    // A good copy can be unpacked afterwards.
    await writeFile(join(packed, 'archives/ada__app.bundle'), 'an archive');
    expect((await unpack()).code).toBe(0);
  });

  it('does not follow a list that leads outside', async () => {
    await pack();
    const file = join(packed, 'manifest.json');
    const list = JSON.parse(await read(file));
    for (const path of ['../outside', '/outside', 'a/../../outside', 'a//b', '.']) {
      list.files[0].path = path;
      await writeFile(file, JSON.stringify(list));
      const { code, stderr } = await unpack();
      expect(code).toBe(2);
      expect(stderr).toContain('manifest.json is damaged');
    }
  });

  it('overwrites nothing', async () => {
    await pack();
    for (const path of ['.env', 'data/local.env', 'kept/other.bundle', 'config/app.json']) {
      await mkdir(join(fresh, path, '..'), { recursive: true });
      const text = path === '.env' ? 'DATA_DIR=data\n' : 'mine';
      await writeFile(join(fresh, path), text);
      const { code, stderr } = await unpack();
      expect(code).toBe(1);
      expect(stderr).toContain(`${path} exists, and nothing is overwritten`);
      expect(await read(fresh, path)).toBe(text);
      await expect(stat(join(fresh, 'data/postgres'))).rejects.toThrow('ENOENT');
      await rm(join(fresh, path));
    }
  });

  it('takes every file back if one of them cannot get its name', async () => {
    await pack();
    const file = join(packed, 'manifest.json');
    const list = JSON.parse(await read(file));
    // The last one is to get the name of a file that this command holds open.
    await copyFile(join(packed, 'start/.env'), join(packed, 'data/worker.lock'));
    const env = list.files.find(({ path }: { path: string }) => path === '.env');
    list.files.push({ ...env, part: 'data', path: 'worker.lock' });
    await writeFile(file, JSON.stringify(list));
    const { code, stderr } = await unpack();
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining('worker.lock appeared meanwhile and was not overwritten'),
    });
    expect(await readdir(fresh)).toEqual([]);
    list.files.pop();
    await writeFile(file, JSON.stringify(list));
    expect((await unpack()).code).toBe(0);
  });

  it('finishes what was killed while files got their names, and nothing else', async () => {
    await addDatabase();
    await pack();
    expect((await unpack()).code).toBe(0);
    const id = createHash('sha256').update(JSON.stringify(await readPackManifest(packed)));
    for (const path of ['data/postgres', '.env', 'config/app.json']) {
      const staged = join(fresh, path, '../.unpacking');
      await mkdir(staged);
      await rename(join(fresh, path), join(staged, basename(path)));
    }
    const marker = join(fresh, 'data/.unpacking.json');
    await writeFile(marker, 'of another folder');
    expect(await unpack()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('unpacking another folder was interrupted'),
    });
    await writeFile(marker, id.digest('hex'));
    expect(await unpack()).toMatchObject({ code: 0, stderr: '' });
    expect(await read(fresh, '.env')).toBe(await read(old, '.env'));
    expect(await read(fresh, 'config/app.json')).toBe('{"app":true}\n');
    const db = await openIn(join(fresh, 'data'));
    expect(await sql(db, 'SELECT status FROM backup_runs')).toEqual([{ status: 'completed' }]);
    await db.close();
    for (const part of ['.', 'data', 'config', 'kept']) {
      expect((await readdir(join(fresh, part))).join(' ')).not.toContain('.unpacking');
    }
  });

  it('explains wrong usage', async () => {
    for (const args of [
      ['--to-folder', packed, '--from-folder', packed],
      ['--with-mirrors'],
      ['--from-folder', packed, '--with-keychain'],
    ]) {
      expect((await move(old, args)).code).toBe(2);
    }
    const { code, stderr } = await move(fresh, ['--from-folder', join(folder, 'nothing')]);
    expect(code).toBe(2);
    expect(stderr).toContain('has no manifest.json: give the whole folder');
  });
});
