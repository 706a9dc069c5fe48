import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ArchiveFault, NoArchive } from '../../lib/archives/base/archive-fault.ts';
import { NoSuchFile } from '../../lib/archives/contents/file-content.ts';
import { AppError } from '../../lib/errors.ts';
import {
  type ArchiveFolder,
  anyCall,
  createArchiveFolder,
  makeTarball,
} from '../support/archives.ts';
import { ended } from '../support/processes.ts';
import { startReader } from './reader-process.ts';

let archives: ArchiveFolder;
let bin: string;
let started: string;

beforeEach(async () => {
  archives = await createArchiveFolder();
  const app = await archives.repository('app');
  await app.commit({ 'a.txt': 'one', 'folder/b.txt': 'two' });
  await archives.bundle('team__app.bundle', app);
  bin = join(archives.outside, 'bin');
  started = join(archives.outside, 'started');
  await mkdir(bin);
});
afterEach(() => archives.remove());

/** A PATH with a program named git before the real one. */
async function standInFor(script: string): Promise<string> {
  const real = `PATH='${process.env.PATH}' exec git "$@"`;
  await writeFile(join(bin, 'git'), `#!/bin/sh\n${script}\n${real}\n`);
  await chmod(join(bin, 'git'), 0o755);
  return `${bin}:${process.env.PATH}`;
}

const inOwnProcess = (path = process.env.PATH) =>
  archives.reader({ inOwnProcess: true, environment: { PATH: path } });

/** git whose index-pack notes its parent and itself, and never ends. */
const hanging = () =>
  `case "$*" in *index-pack*) echo "$PPID $$" > ${started}.new; mv ${started}.new ${started}; exec sleep 600;; esac`;

/** The ids of the process of archives and of the git that hangs. */
async function startedIds(): Promise<number[]> {
  for (;;) {
    const text = await readFile(started, 'utf8').catch(() => null);
    if (text !== null) return text.trim().split(' ').map(Number);
    await setImmediate();
  }
}

describe('a reader with a process of its own', () => {
  it('answers like one without', async () => {
    await archives.write('old.tar.gz', await makeTarball([{ name: 'a' }, 'a']));
    const calls = (reader: ReturnType<typeof inOwnProcess>) =>
      Promise.all([
        reader.verify('team/app', anyCall),
        reader.verify('old', anyCall),
        reader.inspect('team/app', { limit: 1 }, anyCall),
        reader.extract('team/app', 'folder/b.txt', {}, anyCall),
        reader.extract('old', 'a', {}, anyCall),
      ]);
    expect(await calls(inOwnProcess())).toEqual(await calls(archives.reader()));
  });

  it('fails like one without', async () => {
    await archives.write('team__bad.bundle', 'no bundle');
    const calls = async (reader: ReturnType<typeof inOwnProcess>) => {
      const answers = await Promise.allSettled([
        reader.verify('team/none', anyCall),
        reader.verify('team/bad', anyCall),
        reader.inspect('team/bad', { limit: 1 }, anyCall),
        reader.extract('team/app', 'b.txt', {}, anyCall),
        reader.extract('team/app', 'folder', {}, anyCall),
        reader.verify('../x', anyCall),
      ]);
      return answers.map((answer) => (answer.status === 'rejected' ? answer.reason : null));
    };
    const own = await calls(inOwnProcess());
    const types = [NoArchive, ArchiveFault, ArchiveFault, NoSuchFile, AppError, AppError];
    expect(own).toEqual(types.map((type) => expect.any(type)));
    const facts = ({ code, message }: AppError) => ({ code, message });
    expect(own.map(facts)).toEqual((await calls(archives.reader())).map(facts));
  });

  it('finds records in the process of the caller', async () => {
    const reader = archives.reader({ inOwnProcess: true });
    archives.records.set('team/app', {
      archive_key: 'team__app.bundle',
      archive_sha256: '0'.repeat(64),
    });
    await expect(reader.verify('team/app', anyCall)).rejects.toThrow(/^CHECKSUM_MISMATCH/);
    const down = new AppError('SERVICE_UNAVAILABLE', 'the database is down');
    const failing = archives.reader({
      inOwnProcess: true,
      findRecord: () => Promise.reject(down),
    });
    await expect(failing.verify('team/app', anyCall)).rejects.toBe(down);
  });

  it('runs git, with a lower priority, from that process only', async () => {
    const path = await standInFor(`echo "$PPID $(nice)" >> ${started}`);
    const reader = inOwnProcess(path);
    await reader.verify('team/app', anyCall);
    await reader.inspect('team/app', { limit: 1 }, anyCall);
    const lines = new Set((await readFile(started, 'utf8')).trim().split('\n'));
    expect(lines.size).toBe(1);
    const [id, nice] = ([...lines][0] ?? '').split(' ').map(Number);
    expect(id).not.toBe(process.pid);
    expect(nice).toBeGreaterThanOrEqual(10);
  });

  it('stops git and leaves nothing behind when a call is aborted', async () => {
    const reader = inOwnProcess(await standInFor(hanging()));
    const stop = new AbortController();
    const reason = new Error('canceled');
    const verify = () => reader.verify('team/app', { signal: stop.signal });
    const running = Promise.allSettled([verify(), verify()]);
    const [, git = 0] = await startedIds();
    stop.abort(reason);
    expect(await running).toEqual(Array(2).fill({ status: 'rejected', reason }));
    expect(await archives.leftovers()).toEqual([]);
    await ended([git]);
  });

  it('reports that its process was killed, and starts another', async () => {
    const path = await standInFor(
      `case "$*" in *index-pack*) test -e ${started} || { touch ${started}; kill -9 $PPID; exit 1; };; esac`,
    );
    const reader = inOwnProcess(path);
    await expect(reader.verify('team/app', anyCall)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: 'the process that reads archives ended unexpectedly (SIGKILL): try again',
    });
    expect(await reader.verify('team/app', anyCall)).toMatchObject({ pack_verified: true });
    expect(await archives.leftovers()).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)(
    'ends git, and leaves nothing behind, when the caller ends with %s',
    async (signal) => {
      const { child, ended: exited } = startReader(
        archives,
        await standInFor(hanging()),
        'in its own process',
      );
      const ids = await startedIds();
      child.kill(signal);
      await exited;
      await ended(ids);
      expect(await archives.leftovers()).toEqual([]);
    },
  );
});
