import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ArchiveFolder,
  anyCall,
  createArchiveFolder,
  makeTarball,
} from '../support/archives.ts';
import type { TestRepository } from '../support/git.ts';
import { startReader } from './reader-process.ts';

const execute = promisify(execFile);

let archives: ArchiveFolder;
let app: TestRepository;
let bin: string;

beforeEach(async () => {
  archives = await createArchiveFolder();
  app = await archives.repository('app');
  await app.commit({ 'a.txt': 'one' });
  await archives.bundle('team__app.bundle', app);
  bin = join(archives.outside, 'bin');
  await mkdir(bin);
});
afterEach(() => archives.remove());

/** Puts a program named git before the real one on the path of a reader. */
async function standInFor(script: string) {
  await writeFile(join(bin, 'git'), `#!/bin/sh\n${script}\n`);
  await chmod(join(bin, 'git'), 0o755);
  return { environment: { PATH: `${bin}:${process.env.PATH}` } };
}

/** git, except that index-pack leaves a file, a helper and its ids, and never ends. */
const hanging = () => {
  const ids = join(archives.outside, 'ids');
  return `case "$*" in
  *index-pack*) touch "$HOME/partial"; sleep 600 & echo "$$ $!" > ${ids}.new; mv ${ids}.new ${ids}; wait;;
  *) PATH='${process.env.PATH}' exec git "$@";;
esac`;
};

async function hangingIds(): Promise<number[]> {
  for (;;) {
    const text = await readFile(join(archives.outside, 'ids'), 'utf8').catch(() => null);
    if (text !== null) return text.trim().split(' ').map(Number);
    await setImmediate();
  }
}

/** Resolves when none of the processes is running any more; one that nobody has waited for is a zombie. */
async function ended(ids: number[]): Promise<void> {
  for (const id of ids) {
    for (;;) {
      const { stdout } = await execute('ps', ['-o', 'stat=', '-p', `${id}`]).catch(() => ({
        stdout: '',
      }));
      if (stdout.trim() === '' || stdout.startsWith('Z')) break;
    }
  }
}

describe('git', () => {
  it('sees no configuration, no transport and no secret', async () => {
    const seen = join(archives.outside, 'seen');
    const { environment } = await standInFor(
      `env >> ${seen}\necho "$@" >> ${seen}\nPATH='${process.env.PATH}' exec git "$@"`,
    );
    const reader = archives.reader({
      environment: {
        ...environment,
        HOME: '/root',
        DATABASE_URL: 'postgres://a:secret@b/c',
        GIT_DIR: '/elsewhere',
        GIT_CONFIG_GLOBAL: '/elsewhere',
        GIT_CONFIG_PARAMETERS: "'core.pager'='x'",
        GIT_ALTERNATE_OBJECT_DIRECTORIES: '/elsewhere',
        GIT_EXTERNAL_DIFF: 'elsewhere',
        SSH_ASKPASS: 'elsewhere',
      },
    });
    await reader.verify('team/app', anyCall);
    await reader.extract('team/app', 'a.txt', {}, anyCall);
    const text = await readFile(seen, 'utf8');
    expect(text).not.toMatch(/secret|elsewhere|core\.pager|HOME=\/root/);
    expect(text).toMatch(/^GIT_CONFIG_NOSYSTEM=1$/m);
    expect(text).toMatch(/^GIT_CONFIG_GLOBAL=\/dev\/null$/m);
    expect(text).toMatch(/^GIT_ATTR_NOSYSTEM=1$/m);
    expect(text).toMatch(/^GIT_ALLOW_PROTOCOL=none$/m);
    expect(text).toMatch(/^GIT_TERMINAL_PROMPT=0$/m);
    expect(text).toMatch(/^GIT_NO_REPLACE_OBJECTS=1$/m);
    expect(text).toMatch(/core\.hooksPath=\/dev\/null/);
  });

  it('is reported clearly when it is missing for a bundle, and is not needed for a tar.gz', async () => {
    await archives.write('old.tar.gz', await makeTarball([{ name: 'a' }, 'a']));
    const reader = archives.reader({ environment: { PATH: bin } });
    const missing = {
      code: 'SERVICE_UNAVAILABLE',
      message: 'git is needed to read a bundle: git is not installed, or not on the PATH',
    };
    await expect(reader.verify('team/app', anyCall)).rejects.toMatchObject(missing);
    await expect(reader.inspect('team/app', { limit: 1 }, anyCall)).rejects.toMatchObject(missing);
    await expect(reader.extract('team/app', 'a.txt', {}, anyCall)).rejects.toMatchObject(missing);
    expect(await reader.verify('old', anyCall)).toMatchObject({ pack_verified: false });
  });

  it.each([
    'fatal: write error: No space left on device',
    'fatal: Out of memory, malloc failed (tried to allocate 9 bytes)',
    'fatal: attempting to allocate 9 over limit 8',
    'fatal: unable to create temporary file: Permission denied',
  ])('does not make the archive look damaged when it fails with %j', async (said) => {
    const options = await standInFor(
      `case "$*" in *index-pack*) echo "${said}" >&2; exit 128;; esac\nPATH='${process.env.PATH}' exec git "$@"`,
    );
    await expect(archives.reader(options).verify('team/app', anyCall)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringContaining(
        'because of a problem with this machine, not with the bundle',
      ),
    });
  });
});

it('the reader reads the file that it opened, even if another one takes its name', async () => {
  const options = await standInFor(
    `case "$*" in *bundle*verify*) mv ${archives.outside}/other ${archives.root}/team__app.bundle;; esac
PATH='${process.env.PATH}' exec git "$@"`,
  );
  await writeFile(join(archives.outside, 'other'), 'no bundle');
  const { integrity_status } = await archives.reader(options).verify('team/app', anyCall);
  expect(integrity_status).toBe('VALID_UNRECORDED');
  expect(await readFile(join(archives.root, 'team__app.bundle'), 'utf8')).toBe('no bundle');
});

describe('a scratch folder', () => {
  it('cannot be created while its parent folder is missing', async () => {
    const scratchFolder = join(archives.outside, 'later');
    const reader = archives.reader({ scratchFolder });
    await expect(reader.verify('team/app', anyCall)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: 'the folder for temporary files (TMPDIR) is missing or cannot be written',
    });
    await mkdir(scratchFolder);
    expect(await reader.verify('team/app', anyCall)).toMatchObject({ pack_verified: true });
  });

  it('is removed, and git and its helpers are stopped, when a command times out', async () => {
    const options = await standInFor(hanging());
    const reader = archives.reader({ ...options, limits: { gitTimeoutMs: 2_000 } });
    await expect(reader.verify('team/app', anyCall)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringContaining('git index-pack did not end in time and was stopped'),
    });
    expect(await archives.leftovers()).toEqual([]);
    await ended(await hangingIds());
  });

  it('is removed, and git and its helpers are stopped, when the call is aborted', async () => {
    const stop = new AbortController();
    const reason = new Error('canceled');
    const answer = archives
      .reader(await standInFor(hanging()))
      .verify('team/app', { signal: stop.signal });
    const ids = await hangingIds();
    stop.abort(reason);
    await expect(answer).rejects.toBe(reason);
    expect(await archives.leftovers()).toEqual([]);
    await ended(ids);
  });

  it('is removed, and git and its helpers are stopped, when the process ends with SIGTERM', async () => {
    const { environment } = await standInFor(hanging());
    const reader = startReader(archives, environment.PATH);
    const ids = await hangingIds();
    expect(await archives.leftovers()).toHaveLength(1);
    reader.child.kill('SIGTERM');
    expect(await reader.ended).toBe(143);
    expect(await archives.leftovers()).toEqual([]);
    await ended(ids);
  });

  it('is removed by the next process if its own was killed', async () => {
    // The highest process id of Linux is never in use; the parent of this process is running.
    await mkdir(join(archives.scratch, `.scratch-${hostname()}-4194304-aaaaaa`));
    const living = `.scratch-${hostname()}-${process.ppid}-bbbbbb`;
    await mkdir(join(archives.scratch, living));
    await archives.reader().verify('team/app', anyCall);
    expect(await archives.leftovers()).toEqual([living]);
  });

  it('is left alone by another reader of the same process while in use', async () => {
    const stop = new AbortController();
    const answer = archives
      .reader(await standInFor(hanging()))
      .verify('team/app', { signal: stop.signal });
    await hangingIds();
    const before = await archives.leftovers();
    await archives.reader().verify('team/app', anyCall);
    expect(await archives.leftovers()).toEqual(before);
    stop.abort();
    await expect(answer).rejects.toThrow();
  });
});

it('slow work of one caller does not block others', async () => {
  const stop = new AbortController();
  const reader = archives.reader(await standInFor(hanging()));
  const slow = Array.from({ length: 6 }, () =>
    reader.verify('team/app', { signal: stop.signal, caller: 'ada' }).catch(() => 'stopped'),
  );
  await hangingIds();
  await archives.write('old.tar.gz', await makeTarball([{ name: 'a' }, 'a']));
  for (const caller of ['bob', 'eve', undefined]) {
    const answer = await reader.inspect('old', { limit: 1 }, { ...anyCall, caller });
    expect(answer.returned).toBe(1);
  }
  stop.abort();
  expect(await Promise.all(slow)).toEqual(Array(6).fill('stopped'));
  expect(await archives.leftovers()).toEqual([]);
});

it('a caller has one bundle unpacked at a time', async () => {
  const counts = join(archives.outside, 'counts');
  const options = await standInFor(
    `case "$*" in *index-pack*) ls -A ${archives.scratch} | wc -l >> ${counts};; esac
PATH='${process.env.PATH}' exec git "$@"`,
  );
  const reader = archives.reader(options);
  const order: number[] = [];
  const calls = Array.from({ length: 6 }, async (_, call) => {
    const { integrity_status } = await reader.verify('team/app', anyCall);
    order.push(call);
    return integrity_status;
  });
  expect(await Promise.all(calls)).toEqual(Array(6).fill('VALID_UNRECORDED'));
  expect(order).toEqual([0, 1, 2, 3, 4, 5]);
  const seen = (await readFile(counts, 'utf8')).trim().split('\n').map(Number);
  expect(seen).toHaveLength(6);
  expect(Math.max(...seen)).toBe(1);
});
