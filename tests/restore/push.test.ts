import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseWorkerCommand } from '../../lib/worker/command-line.ts';
import type { RestoreCommand } from '../../lib/worker/restore/restore-commands.ts';
import { type ArchiveFolder, createArchiveFolder } from '../support/archives.ts';
import { createChain } from '../support/chains.ts';
import { killWorker } from '../support/fleet.ts';
import { createBare, git, listRefs, type TestRepository } from '../support/git.ts';
import { createHostedWorker, type HostedWorker } from '../support/hosted-worker.ts';
import { startScript } from '../support/script.ts';
import { startOnTerminal } from '../support/terminal.ts';
import { callWorker } from '../support/worker.ts';

// Recreates a repository on a git host from its archive.

let archives: ArchiveFolder;
let app: TestRepository;
let remote: string;

beforeEach(async () => {
  archives = await createArchiveFolder();
  app = await archives.repository('app');
  await app.commit({ 'a.txt': 'one' });
  await app.git('tag', '-a', '-m', 'first', 'v1');
  await app.git('notes', 'add', '-m', 'a note');
  await app.git('update-ref', 'refs/pull/1/head', 'HEAD');
  await app.git('checkout', '--quiet', '-b', 'stable');
  await app.commit({ 'b.txt': 'two' });
  await createChain(archives.root, 'team__app.bundle', app).version();
  remote = join(archives.outside, 'remote.git');
  await createBare(remote);
});
afterEach(() => archives.remove());

const push = (to: string, ...args: string[]) =>
  callWorker({
    args: ['restore', 'team/app', '--push', to, ...args],
    archives: archives.root,
    folder: archives.outside,
    databaseUrl: 'postgres://127.0.0.1:1/none',
  });
/** The folders of temporary repositories of this command. */
const leftovers = async () => {
  const { target } = parseWorkerCommand(
    ['restore', 'team/app', '--push', remote],
    archives.outside,
  ) as RestoreCommand;
  const name = basename(dirname(target));
  return (await readdir(tmpdir())).filter((one) => one === name);
};
const ownRefs = async () =>
  (await listRefs(app.path)).filter((line) => /refs\/(?:heads|tags|notes)\//.test(line));
const refsOfRemote = async () =>
  (await listRefs(remote)).filter((line) => !line.endsWith('\tHEAD'));

describe('--push', () => {
  it('fills an empty repository with branches, tags and notes, and sets HEAD', async () => {
    const { code, stdout, stderr } = await push(remote);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`pushing 2 branches, 1 tag`)]);
    expect(stdout).toMatch(/^Restored team\/app, version 1 of [^,\n]+\n/);
    expect(stdout.slice(stdout.indexOf('Pushed'))).toBe(
      [
        `Pushed to ${remote}`,
        '  Same as in the backup: 2 branches, 1 tag, 1 ref of notes',
        '  Not pushed, because they are not branches, tags or notes: 1 below refs/pull',
        '',
      ].join('\n'),
    );
    expect(await refsOfRemote()).toEqual(await ownRefs());
    expect(await git(remote, 'symbolic-ref', 'HEAD')).toBe('refs/heads/stable');
    // The temporary restored repository was removed.
    expect((await readdir(archives.outside)).sort()).toEqual(['app', 'remote.git']);
  });

  it('keeps the restored repository with --to', async () => {
    expect((await push(remote, '--to', 'kept')).code).toBe(0);
    expect(await git(join(archives.outside, 'kept'), 'status', '--porcelain')).toBe('');
    expect(await refsOfRemote()).toEqual(await ownRefs());
  });

  it('overwrites only with --overwrite, and deletes nothing even then', async () => {
    const other = await archives.repository('other');
    await other.commit({ 'readme.md': 'made by the host' });
    await other.git('branch', 'stable');
    await other.git('push', '--quiet', remote, 'main', 'stable');
    const before = await refsOfRemote();
    await expect(push(remote)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: `${remote} is not empty: it has 2 branches, 0 tags; give --overwrite to replace those that this backup has too`,
    });
    expect(await refsOfRemote()).toEqual(before);
    await other.git('push', '--quiet', remote, 'main:besides');
    const { code, stdout } = await push(remote, '--overwrite');
    expect(code).toBe(0);
    expect(stdout).toContain('  Also there, left unchanged: 1 branch, 0 tags\n');
    expect(await refsOfRemote()).toEqual(expect.arrayContaining(await ownRefs()));
    expect((await refsOfRemote()).length).toBe((await ownRefs()).length + 1);
  });

  it('names the refs that the host rejected, and exits with 1', async () => {
    const hook = join(remote, 'hooks/update');
    await mkdir(join(remote, 'hooks'), { recursive: true });
    await writeFile(
      hook,
      '#!/bin/sh\ncase $1 in refs/heads/main) echo protected >&2; exit 1;; esac\n',
    );
    await chmod(hook, 0o755);
    const { code, stdout, stderr } = await push(`file://${remote}`);
    expect(stderr).toContain('protected');
    expect(stderr).toContain('not everything was pushed: repeat the command with --overwrite\n');
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/\n {2}Same as in the backup: 1 branch, 1 tag, 1 ref of notes\n/),
    ]);
    expect(stdout).toMatch(/\n {2}Missing: refs\/heads\/main at \w{40}\n/);
  });

  it('starts over after an attempt that was killed while it pushed', async () => {
    const hook = join(remote, 'hooks/update');
    await mkdir(join(remote, 'hooks'), { recursive: true });
    await writeFile(hook, '#!/bin/sh\nexec sleep 60\n');
    await chmod(hook, 0o755);
    const killed = startScript('worker', {
      args: ['restore', 'team/app', '--push', remote],
      cwd: archives.outside,
      env: { BACKUP_ARCHIVE_PATH: archives.root, TMPDIR: tmpdir() },
    });
    await killed.waitFor(/pushing 2 branches/);
    await killWorker(killed);
    expect(await leftovers()).toHaveLength(1);
    await rm(hook);
    expect((await push(remote, '--overwrite')).code).toBe(0);
    expect(await refsOfRemote()).toEqual(await ownRefs());
    expect(await leftovers()).toEqual([]);
    expect((await readdir(archives.outside)).sort()).toEqual(['app', 'remote.git']);
  });

  it('fails before anything is restored if the host does not answer', async () => {
    await expect(push(join(archives.outside, 'none'))).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
    });
    expect((await readdir(archives.outside)).sort()).toEqual(['app', 'remote.git']);
  });

  it.each([
    ['y', 0, /Same as in the backup/],
    ['n', 1, /nothing was pushed/],
  ])('asks before overwriting, and obeys the answer %s', async (answer, code, said) => {
    await app.git('push', '--quiet', remote, 'main');
    const terminal = startOnTerminal('worker', {
      args: ['restore', 'team/app', '--push', remote],
      cwd: archives.outside,
      env: { BACKUP_ARCHIVE_PATH: archives.root },
    });
    await terminal.waitFor(/is not empty: it has 1 branch.*Replace those/s);
    terminal.type(answer);
    terminal.type('\r');
    const ended = await terminal.finished;
    expect(ended.code).toBe(code);
    expect(ended.output).toMatch(said);
    expect((await refsOfRemote()).length).toBe(code === 0 ? (await ownRefs()).length : 1);
  });
});

describe('--push to a host that requires a login', () => {
  let hosted: HostedWorker;
  beforeEach(async () => {
    hosted = await createHostedWorker();
    hosted.host.addRepository({ fullName: 'team/new', private: true });
    const bare = join(hosted.folder, 'host/team/new.git');
    await mkdir(bare, { recursive: true });
    await createBare(bare);
    remote = bare;
  });
  afterEach(() => hosted.close());

  it("uses git's credential helper, and shows no credential", async () => {
    const token = await hosted.logIn('token');
    const helper = join(hosted.folder, 'helper');
    await writeFile(
      helper,
      `#!/bin/sh\n[ "$1" = get ] && printf 'username=x-access-token\\npassword=${token}\\n'\nexit 0\n`,
    );
    await chmod(helper, 0o755);
    const url = `${hosted.host.url}/team/new.git`;
    const call = (env: Record<string, string>) =>
      callWorker({
        args: ['restore', 'team/app', '--push', url],
        archives: archives.root,
        folder: archives.outside,
        databaseUrl: 'postgres://127.0.0.1:1/none',
        env,
      });
    await expect(call({})).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE' });
    const { code, stdout, stderr } = await call({
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'credential.helper',
      GIT_CONFIG_VALUE_0: helper,
    });
    expect(code).toBe(0);
    expect(`${stdout}${stderr}`).not.toContain(token);
    expect(stdout).toContain('  The default branch is not stable: set it in the settings');
    expect(await refsOfRemote()).toEqual(await ownRefs());
  });
});
