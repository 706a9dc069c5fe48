import { chmod, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { generateIdentity } from 'age-encryption';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type ErrorCode, errorCodes } from '../../lib/errors.ts';
import { nullIfMissing } from '../../lib/files.ts';
import { flipByte } from '../support/chains.ts';
import { createBare, git } from '../support/git.ts';
import { useDatabase } from '../support/hooks.ts';
import { prepareOnce } from '../support/prepare-once.ts';
import { storeKinds, useStoreWorld } from '../support/store-world.ts';
import { refsOf } from '../support/versioned-app.ts';

// Machine A backs up to a store and is lost. Machine B has the address, the credentials and the identity.

const database = useDatabase();

describe.each(storeKinds)('restoring from %s', (_, kind) => {
  const world = useStoreWorld(database, kind);
  const restore = (...args: string[]) =>
    world.call(['restore', '--from', world.address, ...world.withIdentity, ...args]);
  const pathTo = (name: string) => join(world.elsewhere, name);
  /** Stores two versions; returns the refs and the time of the first. */
  const storeTwice = prepareOnce(world, database, async () => {
    await world.storeFirst();
    const refs = await refsOf(world.app.path);
    const [version] = (await world.readNote()).versions;
    await world.app.commit({ 'b.txt': 'more' });
    await world.store();
    return { refs, at: version?.at ?? '' };
  });

  it('restores every stored version with its refs', async () => {
    const history: string[][] = [];
    const step = async () => {
      expect((await world.store()).code).toBe(0);
      history.push(await refsOf(world.app.path));
    };
    await step();
    await world.forcePush();
    await step();
    await world.app.git('branch', '-D', 'topic');
    await step();
    await world.loseMachine();
    for (const [index, refs] of history.entries()) {
      const target = `v${index + 1}`;
      const { code, stdout } = await restore(
        'local/app',
        ...['--version', `${index + 1}`, '--bare', '--to', target],
      );
      expect(code).toBe(0);
      expect(stdout).toContain(`Restored local/app, version ${index + 1} of `);
      expect(stdout).toContain('Proved: the SHA-256 of the manifest and every file');
      expect(await refsOf(pathTo(target))).toEqual(refs);
    }
    const { stdout } = await restore('Local/App', '--to', 'newest');
    expect(stdout).toContain('version 3 of ');
    expect((await readdir(world.elsewhere)).filter((name) => name.startsWith('.'))).toEqual([]);
  });

  it('lists repositories and versions', async () => {
    await storeTwice();
    const encrypted = kind.isEncrypted ? 'yes' : 'no';
    const all = await restore('--list');
    expect(all).toMatchObject({ code: 0, stderr: '' });
    expect(all.stdout).toMatch(
      new RegExp(
        `^Repository +Versions +Newest +Stored +Encrypted\\nlocal/app +2 +20\\S+Z +[\\d.]+ KiB +${encrypted}\\n$`,
      ),
    );
    const one = await restore('--list', 'local/app');
    expect(one.code).toBe(0);
    expect(one.stdout.split('\n').map((line) => line.split(/ +/)[0])).toEqual([
      'Version',
      '1',
      '2',
      '',
    ]);
  });

  it('finds an encrypted archive by its name, or by reading all names', async () => {
    await world.storeFirst();
    const env = { BACKUP_NAMES_KEY: world.namesKey };
    const args = ['restore', '--from', world.address, ...world.withIdentity, 'local/app', '--bare'];
    const quick = await world.call([...args, '--to', 'quick'], { env });
    const slow = await world.call([...args, '--to', 'slow']);
    const said = 'the names of all encrypted archives are read';
    expect([quick.code, quick.stderr.includes(said)]).toEqual([0, false]);
    expect([slow.code, slow.stderr.includes(said)]).toEqual([0, kind.isEncrypted]);
    // The key of another store leads nowhere, so the names are read.
    const wrong = { BACKUP_NAMES_KEY: 'another key that is long enough to be one' };
    expect((await world.call([...args, '--to', 'wrong'], { env: wrong })).code).toBe(0);
  });

  it('restores all repositories as of a time', async () => {
    const { refs, at } = await storeTwice();
    const { code, stdout } = await restore('--all', '--bare', '--to', 'all', '--at', at);
    expect([code, stdout]).toEqual([
      0,
      expect.stringContaining(`Restored 1 of 1 repositories to ${pathTo('all')}`),
    ]);
    expect(await refsOf(pathTo('all/local/app'))).toEqual(refs);
    await expect(restore('local/app', '--to', 'x', '--at', '2001-01-01')).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: `the store has no version that old: its oldest is of ${at}`,
    });
    await expect(restore('local/app', '--to', 'x', '--version', '9')).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
    await expect(restore('local/none', '--to', 'x')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('skips what an earlier --all restored, and reports what it downloads', async () => {
    await world.storeFirst();
    const all = () => restore('--all', '--bare', '--to', 'all');
    const first = await all();
    expect([first.code, first.stderr]).toEqual([
      0,
      expect.stringMatching(/^local\/app: downloading 2 files, [\d.]+ KiB$/m),
    ]);
    const second = await all();
    expect([second.code, second.stderr]).toEqual([
      0,
      `local/app is skipped: ${pathTo('all/local/app')} already exists\n`,
    ]);
    expect(second.stdout).toMatch(/^Restored 0 of 1 repositories to \S+; 1 already there\n$/);
  });

  it('keeps the download until everything is pushed', async () => {
    await world.storeFirst();
    const remote = pathTo('remote.git');
    const hook = join(remote, 'hooks/update');
    await createBare(remote);
    await mkdir(join(remote, 'hooks'), { recursive: true });
    await writeFile(hook, '#!/bin/sh\nexit 1\n');
    await chmod(hook, 0o755);
    const failed = await restore('local/app', '--push', remote);
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining('to resume it\n')]);
    const [, folder = ''] = /(\S+\/\.download-\w+)/.exec(failed.stderr) ?? [];
    expect((await readdir(folder)).length).toBeGreaterThan(0);
    await rm(hook);
    expect((await restore('local/app', '--push', remote)).code).toBe(0);
    expect(await refsOf(remote)).toEqual(await refsOf(world.app.path));
    expect(await nullIfMissing(readdir(folder))).toBeNull();
  });

  it('requires --at if backups started over with the same numbers', async () => {
    await world.storeFirst();
    const first = await refsOf(world.app.path);
    await world.loseMachine();
    await world.app.commit({ 'b.txt': 'after the loss' });
    await world.store();
    const second = await refsOf(world.app.path);
    const failure = await restore('local/app', '--to', 'x', '--version', '1').catch(
      (error) => error,
    );
    expect(failure).toMatchObject({ code: 'CONFLICT' });
    const times = /of (\S+Z), (\S+Z); choose one with --at$/.exec(failure.message)?.slice(1) ?? [];
    expect(times).toHaveLength(2);
    for (const [index, refs] of [first, second].entries()) {
      const target = `at-${index}`;
      await restore('local/app', '--bare', '--to', target, '--at', times[index] ?? '');
      expect(await refsOf(pathTo(target))).toEqual(refs);
    }
  });

  it('names every missing or damaged file, and leaves nothing behind', async () => {
    await storeTwice();
    const objects = (await world.objects()).filter(({ parsed }) => parsed?.kind === 'object');
    expect(objects).toHaveLength(4);
    const [lost, flipped, short] = objects;
    await world.lose(lost?.key ?? '');
    await flipByte(flipped?.path ?? '');
    await truncate(short?.path ?? '', 20);
    let said = '';
    for (const { version, at } of (await world.readNote()).versions) {
      const { code, stderr } = await restore('--all', '--to', `all-${version}`, '--at', at);
      expect(code).toBe(1);
      expect(stderr).toMatch(
        /local\/app was not restored: \d files? (is|are) missing or damaged in/,
      );
      said += stderr;
    }
    for (const [object, reason] of [
      [lost, 'is missing'],
      [
        flipped,
        kind.isEncrypted ? 'it was altered or cut short' : 'has other content than was stored',
      ],
      [short, /has 20 of the \d+ bytes/],
    ] as const) {
      const line = said.split('\n').find((one) => one.includes(object?.key ?? 'none'));
      expect(line).toMatch(reason);
      expect(line).toMatch(/^local\/app: local__app\.\S+: archives\//);
    }
    for (const all of ['all-1', 'all-2']) {
      const left = await readdir(join(world.elsewhere, all, 'local'));
      expect(left).toEqual([expect.stringMatching(/^\.download-/)]);
    }
  });

  it('reports a damaged newest state, and restores from an older one', async () => {
    const { refs, at } = await storeTwice();
    const states = (await world.objects()).filter(({ parsed }) => parsed?.kind === 'state');
    await writeFile(states.at(-1)?.path ?? '', 'not what it was');
    const from = ['restore', '--from', world.address, ...world.withIdentity];
    const args = [...from, 'local/app'];
    await expect(world.call([...args, '--to', 'x'])).rejects.toMatchObject({
      message: expect.stringMatching(`^${states.at(-1)?.key} .*; --at restores from older states$`),
    });
    const listed = await world.call([...from, '--list']);
    expect([listed.code, listed.stdout]).toEqual([1, expect.stringMatching(/^local\/app +1 /m)]);
    expect(listed.stderr).toMatch(`left out: ${states.at(-1)?.key} `);
    const all = await world.call([...from, '--all', '--to', 'all']);
    expect(all.stderr).toMatch(
      /^local\/app was not restored: .*; --at restores from older states$/m,
    );
    const older = await world.call([...args, '--bare', '--to', 'x', '--at', at]);
    expect(older.stderr).toContain(`left out: ${states.at(-1)?.key}`);
    expect(await refsOf(pathTo('x'))).toEqual(refs);
  });

  it('restores a version that newer states have pruned while its objects still exist', async () => {
    await world.storeFirst();
    const before = await refsOf(world.app.path);
    const [version] = (await world.readNote()).versions;
    await world.loseMachine();
    await world.app.git('checkout', '--quiet', '--orphan', 'anew');
    await world.app.commit({ 'c.txt': 'anew' });
    await world.store();
    await restore('local/app', '--bare', '--to', 'old', '--at', version?.at ?? '');
    expect(await refsOf(pathTo('old'))).toEqual(before);
    expect(await git(pathTo('old'), 'fsck', '--full')).toBe('');
  });
});

describe('restoring from a store with a moved state', () => {
  const plain = useStoreWorld(database, { place: 'folder', isEncrypted: false });

  it.each([
    [
      'a state with objects of another archive',
      (key: string) => key,
      'names an object of another archive',
    ],
    [
      'a state that belongs to another archive',
      (key: string) => key.replaceAll('local__app/', 'local__other/'),
      'is a state of',
    ],
  ])('rejects %s', async (_, rename, fault) => {
    await plain.store();
    const objects = await plain.objects();
    const state = objects.find(({ parsed }) => parsed?.kind === 'state');
    const text = rename(await readFile(state?.path ?? '', 'utf8'));
    const forged = (state?.path ?? '').replace(/archives\/[^/]+/, 'archives/local__other');
    await mkdir(dirname(forged), { recursive: true });
    await writeFile(
      forged,
      fault.startsWith('names')
        ? text.replace('"local__app.bundle"', '"local__other.bundle"')
        : text,
    );
    const args = ['restore', '--from', plain.address, '--all', '--bare', '--to', 'all'];
    const { code, stderr } = await plain.call(args);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      new RegExp(`^not restored: archives/local__other/states/\\S+ ${fault}`, 'm'),
    );
    expect(await readdir(join(plain.elsewhere, 'all/local'))).toEqual(['app']);
  });
});

describe('an encrypted store', () => {
  const world = useStoreWorld(database, { place: 'folder', isEncrypted: true });

  it('reports what is needed if the identity is missing or wrong', async () => {
    await world.storeFirst();
    const from = ['restore', '--from', world.address];
    const list = await world.call([...from, '--list']);
    expect(list).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `left out: 1 archive is encrypted: give --identity to read them\nnothing in ${world.address} could be read\n`,
    });
    await expect(world.call([...from, 'local/app', '--to', 'x'])).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringContaining('give --identity'),
    });
    await writeFile(join(world.elsewhere, 'other.txt'), await generateIdentity());
    const other = await world.call([...from, '--list', '--identity', 'other.txt']);
    expect(other).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is encrypted for other identities'),
    });
    const call = world.call([...from, 'local/app', '--to', 'x', '--identity', 'other.txt']);
    await expect(call).rejects.toMatchObject({
      message: expect.stringContaining(
        '1 encrypted archive could not be read: is it the right identity?',
      ),
    });
  });

  it.each([
    ['nothing here\n', 'something other than an identity as its entry 1'],
    ['# only a comment\n', 'has no identity'],
    ['age-encryption.org/v1\n-> scrypt', 'is encrypted with a passphrase'],
    ['AGE-SECRET-KEY-1NOTAKEY\n', 'something other than an identity as its entry 1'],
    ['x'.repeat(70_000), 'is too long'],
  ])('rejects invalid identity file %# without repeating its contents', async (text, fault) => {
    await writeFile(join(world.elsewhere, 'bad.txt'), text);
    const call = world.call([
      'restore',
      '--from',
      world.address,
      '--list',
      '--identity',
      'bad.txt',
    ]);
    const failure = await call.catch((error) => error);
    expect(failure).toMatchObject({ code: 'BAD_REQUEST', message: expect.stringContaining(fault) });
    expect(failure.message).not.toContain('NOTAKEY');
    expect(failure.message).not.toContain('nothing here');
  });

  it.each([
    ['its content', -20, 'it was altered or cut short'],
    ['its header', 60, 'or it was altered'],
  ])('exits with 1 if %s of a state was altered', async (_what, place, reason) => {
    await world.storeFirst();
    const state = (await world.objects()).find(({ parsed }) => parsed?.kind === 'state');
    const bytes = await readFile(state?.path ?? '');
    const at = (bytes.length + place) % bytes.length;
    // The header is base64, and remains so.
    bytes[at] = bytes[at] === 0x41 ? 0x42 : 0x41;
    await writeFile(state?.path ?? '', bytes);
    const args = ['restore', '--from', world.address, ...world.withIdentity, 'local/app'];
    const env = { BACKUP_NAMES_KEY: world.namesKey };
    const failure = await world.call([...args, '--to', 'x'], { env }).catch((error) => error);
    expect(failure.message).toContain('cannot be decrypted: ');
    expect(failure.message).toContain(reason);
    expect(errorCodes[failure.code as ErrorCode].exitCode).toBe(1);
  });

  it('removes what a killed restore left in the temporary folder', async () => {
    await world.storeFirst();
    // No process has such a high id.
    const left = join(tmpdir(), `backup-observatory-restore-${hostname()}-4194304-aaaaaa`);
    const others = join(tmpdir(), 'backup-observatory-restore-of-somebody');
    for (const path of [left, others]) await mkdir(join(path, 'repository'), { recursive: true });
    onTestFinished(() => rm(others, { recursive: true }));
    await world.call(['restore', '--from', world.address, ...world.withIdentity, '--list']);
    const names = await readdir(tmpdir());
    expect(names).not.toContain(basename(left));
    expect(names).toContain(basename(others));
  });

  it('reveals neither names nor contents to anyone who reads the store', async () => {
    await world.storeFirst();
    for (const { key, path } of await world.objects()) {
      expect(key).not.toContain('app');
      if (key !== 'README.txt')
        expect((await readFile(path)).subarray(0, 21).toString()).toBe('age-encryption.org/v1');
    }
  });
});
