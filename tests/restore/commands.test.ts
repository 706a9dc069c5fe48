import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import { parseWorkerCommand } from '../../lib/worker/command-line.ts';
import { type ArchiveFolder, makeTarball } from '../support/archives.ts';
import { flipByte, type TestChain, useChain } from '../support/chains.ts';
import { git, plantUnwritable, type TestRepository } from '../support/git.ts';
import { runScript } from '../support/script.ts';
import { removeStuckFolder } from '../support/stuck-folder.ts';
import { callWorker } from '../support/worker.ts';

const parse = (...args: string[]) => parseWorkerCommand(args, '/home/ada');

describe('a command line', () => {
  const restore = {
    name: 'restore',
    repository: 'team/app',
    choice: 'newest',
    ref: null,
    isBare: false,
    isLimited: true,
    isJson: false,
    target: '/home/ada/there',
    store: null,
    push: null,
  };

  it('selects a version', () => {
    const to = ['--to', 'there'];
    expect(parse('restore', 'team/app', ...to)).toEqual(restore);
    expect(parse('restore', 'team/app', ...to, '--version', '7', '--bare')).toEqual({
      ...restore,
      choice: { version: 7 },
      isBare: true,
    });
    expect(parse('restore', 'team/app', '--to=/x', '--ref', 'main')).toEqual({
      ...restore,
      ref: 'main',
      target: '/x',
    });
    expect(parse('restore', '--all', ...to)).toEqual({ ...restore, repository: null });
    expect(parse('versions')).toEqual({ name: 'versions', repository: null, isJson: false });
    expect(parse('versions', 'team/app', '--json')).toEqual({
      name: 'versions',
      repository: 'team/app',
      isJson: true,
    });
  });

  it('selects a store, and a push', () => {
    const address = { kind: 'folder', text: 'file:///mnt/nas', path: '/mnt/nas' };
    const from = ['--from', 'file:///mnt/nas'];
    expect(parse('restore', ...from, '--list', '--identity', 'key.txt')).toEqual({
      name: 'list-store',
      store: { address, identityFile: 'key.txt' },
      repository: null,
    });
    expect(parse('restore', 'team/app', ...from, '--to', 'there')).toEqual({
      ...restore,
      store: { address, identityFile: null },
    });
    const push = ['--push', 'https://host/team/app'];
    expect(parse('restore', 'team/app', ...push, '--to', 'there')).toMatchObject({
      isBare: false,
      target: '/home/ada/there',
      push: { mayOverwrite: false, isTemporary: false, to: { location: 'https://host/team/app' } },
    });
    const temporary = parse('restore', 'team/app', ...push, '--overwrite');
    expect(temporary).toMatchObject({
      isBare: true,
      target: expect.stringMatching(/\/backup-observatory-push-\w{16}\/repository\.git$/),
      push: { mayOverwrite: true, isTemporary: true },
    });
    expect(parse('restore', 'team/app', ...push, '--overwrite')).toEqual(temporary);
  });

  it.each([
    ['2026-03-01T12:00:00Z', Date.UTC(2026, 2, 1, 12)],
    ['2026-03-01t12:00:00.250+02:00', Date.UTC(2026, 2, 1, 10, 0, 0, 250)],
    ['2026-03-01T12:00', new Date(2026, 2, 1, 12).getTime()],
    ['2026-03-01 12:00', new Date(2026, 2, 1, 12).getTime()],
    ['2026-03-01', new Date(2026, 2, 2).getTime() - 1],
    ['2024-02-29', new Date(2024, 2, 1).getTime() - 1],
  ])('reads --at %s as %d', (text, before) => {
    expect(parse('restore', 'team/app', '--to', 'x', '--at', text)).toMatchObject({
      choice: { before },
    });
  });

  it.each([
    [['restore', 'team/app'], "required option '--to <folder>' not specified"],
    [['restore', '--to', 'x'], 'name one repository, or give --all'],
    [['restore', 'team/app', '--all', '--to', 'x'], 'name one repository, or give --all'],
    [['restore', '--all', '--to', 'x', '--version', '1'], 'cannot be used with'],
    [['restore', '--all', '--to', 'x', '--ref', 'main'], 'cannot be used with'],
    [['restore', 'a/b', '--to', 'x', '--version', '1', '--at', '2026-01-01'], 'cannot be used'],
    [['restore', 'a/b', '--to', 'x', '--version', '0'], 'the number of a version'],
    [['restore', 'a/b', '--to', 'x', '--version', '1.5'], 'the number of a version'],
    [['restore', 'a/b', '--to', 'x', '--at', 'yesterday'], 'a date or a time in ISO 8601'],
    [['restore', 'a/b', '--to', 'x', '--at', '2026-02-31'], 'a date or a time in ISO 8601'],
    [['restore', 'a/b', '--to', 'x', '--at', '2026-01-01T25:00'], 'a date or a time'],
    [['restore', 'a/b', 'c/d', '--to', 'x'], 'too many arguments'],
    [['versions', 'a/b', 'c/d'], 'too many arguments'],
    [['restore', '--list'], 'give --from'],
    [['restore', 'a/b', '--to', 'x', '--identity', 'key.txt'], 'give --from'],
    [
      ['restore', '--from', 'ftp://host/x', '--list'],
      'must be like s3://bucket/prefix, file:///folder or git+https://',
    ],
    [['restore', '--from', 'file:///x', '--list', '--to', 'x'], 'cannot be used with'],
    [['restore', 'a/b', '--to', 'x', '--overwrite'], '--overwrite is for --push'],
    [['restore', '--all', '--to', 'x', '--push', 'https://host/a/b'], 'cannot be used with'],
    [['restore', 'a/b', '--push', 'https://ada:secret@host/a/b'], '--push contains credentials'],
  ])('rejects %j as wrong usage', (args, fault) => {
    const failure = (() => {
      try {
        return parse(...args);
      } catch (error) {
        return error;
      }
    })();
    expect(failure).toBeInstanceOf(AppError);
    expect(failure).toMatchObject({ code: 'BAD_REQUEST', message: expect.stringContaining(fault) });
  });
});

describe('without a database', () => {
  let archives: ArchiveFolder;
  let app: TestRepository;
  let chain: TestChain;

  const world = useChain('team__app.bundle', async ({ archives, app, chain }) => {
    for (const text of ['one', 'two']) {
      await app.commit({ 'a.txt': text });
      await chain.version();
    }
    const old = await archives.repository('old');
    await old.commit({ 'b.txt': 'old' });
    await archives.bundle('team__old.bundle', old);
    // A repository whose name looks like an increment.
    await archives.bundle('team__old.1.bundle', old);
    await archives.write('team__old.1.bundle.json', '{}');
  });
  beforeEach(() => {
    ({ archives, app, chain } = world);
  });
  afterEach(async () => {
    await removeStuckFolder(archives.outside);
  });

  const call = (...args: string[]) =>
    callWorker({
      args,
      archives: archives.root,
      folder: archives.outside,
      databaseUrl: 'postgres://127.0.0.1:1/none',
    });

  it('versions lists every archive, but no increments', async () => {
    await archives.write('tar.tar.gz', await makeTarball([{ name: 'a' }, 'a']));
    const { code, stdout } = await call('versions');
    expect(code).toBe(0);
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
      ['Repository', 'Versions'],
      ['tar', 'tar.gz'],
      ['team/app', '2'],
      ['team/old.1', '1'],
      ['team/old', '1'],
      [''],
    ]);
    const { stdout: json } = await call('versions', '--json');
    const sizes = chain.note.increments.reduce(
      (sum, { size_bytes }) => sum + size_bytes,
      chain.note.archive_size_bytes ?? 0,
    );
    expect(JSON.parse(json)).toContainEqual({
      repository: 'team/app',
      candidates: [],
      archive: 'team__app.bundle',
      source: null,
      is_misnamed: false,
      is_set_aside: false,
      format: 'bundle',
      versions: 2,
      newest: '2026-03-02T12:00:00.000Z',
      size_bytes: sizes,
      fault: null,
    });
  });

  it('versions lists only archives, and each repository once', async () => {
    const { stdout } = await call('versions');
    await mkdir(join(archives.root, 'team__folder.bundle'));
    await archives.write('team__..bundle', '');
    await archives.write('nobody.bundle', '');
    await archives.write('team__app.7.bundle', 'left by a run that was killed');
    await archives.write('team__app.tar.gz', await makeTarball([{ name: 'a' }, 'a']));
    expect((await call('versions')).stdout).toBe(stdout);
  });

  it('versions lists the versions of one repository', async () => {
    const [first] = chain.note.versions;
    if (first) first.warning = 'rewritten\u001b[31m history';
    await chain.writeNote();
    const { stdout } = await call('versions', 'Team/App');
    expect(stdout).toMatch(
      /^Version +Time +Refs +Needs +Size +Warning\n1 +2026-03-01T12:00:00\.000Z +2 +1 file +\d+ B +rewritten\S* history\n2 +2026-03-02T12:00:00\.000Z +2 +2 files +\d+ B\n$/,
    );
    expect(stdout).not.toContain('\u001b');
    const { stdout: json } = await call('versions', 'team/app', '--json');
    expect(JSON.parse(json)).toMatchObject({
      repository: 'team/app',
      archive: 'team__app.bundle',
      versions: [
        { version: 1, files: ['team__app.bundle'], ref_count: 2 },
        { version: 2, files: ['team__app.bundle', 'team__app.1.bundle'], warning: null },
      ],
    });
    expect((await call('versions', 'team/old')).stdout).toMatch(/\n- +20\S+ +- +1 file/);
  });

  it('versions reports a folder without archives, and a missing folder', async () => {
    for (const name of await readdir(archives.root)) {
      await rm(join(archives.root, name), { recursive: true });
    }
    expect((await call('versions')).stdout).toBe(`There is no archive in ${archives.root}.\n`);
    await expect(call('versions', 'team/app')).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await rm(archives.root, { recursive: true });
    await expect(call('versions')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
  });

  it('restore restores a version and reports how it was proved', async () => {
    const { code, stdout } = await call(
      'restore',
      'team/app',
      '--to',
      'x/y',
      '--at',
      '2026-03-02T11:00Z',
    );
    const to = join(archives.outside, 'x/y');
    const head = chain.note.versions.length;
    expect(head).toBe(2);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(
        new RegExp(
          `^Restored team/app, version 1 of 2026-03-01T12:00:00.000Z, to ${to}\\n  Refs: 1 branch, 0 tags; HEAD is main at \\w{40}\\n  From: 1 file, \\d+ B\\n  Proved: the SHA-256 of the manifest and every file, every object, the whole history, and all refs\\n$`,
        ),
      ),
    ]);
    expect(await readFile(join(to, 'a.txt'), 'utf8')).toBe('one');
  });

  it('restore --all continues after a failure, and exits with 1', async () => {
    await flipByte(join(archives.root, 'team__app.1.bundle'));
    const { code, stdout, stderr } = await call('restore', '--all', '--to', 'all');
    const to = join(archives.outside, 'all');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^team\/app was not restored: CHECKSUM_MISMATCH: .*team__app\.1\.bundle/,
    );
    expect(stdout).toContain(`, to ${to}/team/old\n`);
    expect(stdout).toContain('; no SHA-256 is recorded\n');
    expect(stdout).toMatch(
      new RegExp(`\\nRestored 2 of 3 repositories to ${to}\\nNot restored: team/app\\n$`),
    );
    expect((await readdir(join(to, 'team'))).sort()).toEqual(['old', 'old.1']);
  });

  it('restore keeps a repository whose files cannot all be checked out, names those, and exits with 1', async () => {
    await plantUnwritable(app);
    await chain.version();
    const { code, stdout } = await call('restore', 'team/app', '--to', "it's long");
    expect(code).toBe(1);
    const quoted = '\\303\\266'.repeat(150);
    expect(stdout.split('\n').slice(4)).toEqual([
      '  NOT CHECKED OUT: 2 files are in the repository, but this file system rejects their names or paths:',
      `    deep/${`${'d'.repeat(201)}/`.repeat(21)}file`,
      `    "${quoted}"`,
      expect.stringMatching(/^ {2}List them with `/),
      '',
    ]);
    const target = join(archives.outside, "it's long");
    expect(await git(target, 'rev-parse', 'HEAD')).toBe(await app.git('rev-parse', 'HEAD'));
    const files = await readdir(target, { encoding: 'buffer' });
    expect(files.map((name) => name.toString('latin1')).sort()).toEqual(
      ['.git', 'deep', 'm.txt', 'n\u00e9', 'z.txt'].sort(),
    );
    const [list = '', write = ''] = [...stdout.matchAll(/`(git .*?)`/g)].map(([, one]) => one);
    const listed = await promisify(execFile)('sh', ['-c', list]);
    const hash = listed.stdout
      .split('\n')
      .find((line) => line.endsWith(`"${quoted}"`))
      ?.split(' ')[1];
    const there = write.replace('HASH', `${hash}`).replace('FILE', join(archives.outside, 'found'));
    await promisify(execFile)('sh', ['-c', there]);
    expect(await readFile(join(archives.outside, 'found'), 'utf8')).toBe('x');

    const all = await call('restore', '--all', '--to', 'all');
    expect(all.code).toBe(1);
    expect(all.stdout).toMatch(/Restored, but not all files could be checked out: team\/app\n$/);
    expect((await call('restore', '--all', '--bare', '--to', 'bare')).code).toBe(0);
  });

  it('restore --all restores everything as of a time, and exits with 0', async () => {
    const { code, stdout } = await call('restore', '--all', '--to', 'all', '--at', '2999-01-01');
    expect([code, stdout]).toEqual([0, expect.stringContaining('Restored 3 of 3 repositories')]);
    expect(await readFile(join(archives.outside, 'all/team/app/a.txt'), 'utf8')).toBe('two');
  });

  it('restore --all fails if there is nothing to restore', async () => {
    await rm(archives.root, { recursive: true });
    await mkdir(archives.root);
    expect(await call('restore', '--all', '--to', 'all')).toMatchObject({ code: 1 });
  });

  it('restore rejects a name that is not a repository, and a folder that is a link', async () => {
    await expect(call('restore', '../app', '--to', 'x')).rejects.toMatchObject({
      code: 'BAD_REQUEST',
    });
    await mkdir(join(archives.outside, 'elsewhere'));
    await symlink('elsewhere', join(archives.outside, 'link'));
    await expect(call('restore', 'team/app', '--to', 'link')).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    expect(await readdir(join(archives.outside, 'elsewhere'))).toEqual([]);
  });

  it('the commands work as programs with nothing but the archive folder', async () => {
    const env = { BACKUP_ARCHIVE_PATH: archives.root, DATABASE_URL: 'nothing that can be used' };
    const run = (...args: string[]) => runScript('worker', { args, cwd: archives.outside, env });
    expect(await run('versions')).toMatchObject({ code: 0, stderr: '' });
    expect(await run('restore', 'team/app', '--to', 'x')).toMatchObject({ code: 0, stderr: '' });
    expect(await run('restore', 'team/app', '--to', 'x')).toMatchObject({
      code: 1,
      stderr: `${join(archives.outside, 'x')} is not an empty folder\n`,
    });
    expect(await run('restore', 'team/app')).toMatchObject({ code: 2 });
    expect(await run('restore', 'team/none', '--to', 'z')).toMatchObject({
      code: 1,
      stderr: 'there is no archive of team/none in the archive folder\n',
    });
  });
});
