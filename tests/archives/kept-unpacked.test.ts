import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createKeptUnpacked } from '../../lib/archives/kept-unpacked.ts';
import { type ArchiveFolder, anyCall, createArchiveFolder } from '../support/archives.ts';
import type { TestRepository } from '../support/git.ts';

let archives: ArchiveFolder;
let app: TestRepository;

beforeEach(async () => {
  archives = await createArchiveFolder();
  app = await archives.repository('app');
  await app.commit({ 'a.txt': 'one' });
  await archives.bundle('team__app.bundle', app);
});
afterEach(async () => {
  vi.useRealTimers();
  await archives.remove();
});

const read = async (reader: ReturnType<ArchiveFolder['reader']>, path: string) =>
  (await reader.extract('team/app', path, {}, anyCall)).content;

it('an archive is unpacked once for several files, and again once it has changed', async () => {
  const reader = archives.reader();
  expect(await read(reader, 'a.txt')).toBe('one');
  const [kept] = await archives.unpacked();
  expect((await reader.inspect('team/app', { limit: 9 }, anyCall)).returned).toBe(1);
  expect(await read(reader, 'a.txt')).toBe('one');
  expect(await archives.unpacked()).toEqual([kept]);
  await app.commit({ 'a.txt': 'two' });
  await archives.bundle('team__app.bundle', app);
  expect(await read(reader, 'a.txt')).toBe('two');
});

it('an archive is unpacked again if somebody has deleted what was kept', async () => {
  const reader = archives.reader();
  expect(await read(reader, 'a.txt')).toBe('one');
  const [kept = ''] = await archives.unpacked();
  await rm(join(archives.scratch, kept, 'kept.git', 'objects'), { recursive: true });
  expect(await read(reader, 'a.txt')).toBe('one');
  expect((await reader.inspect('team/app', { limit: 9 }, anyCall)).returned).toBe(1);
});

it('an unpacked archive is forgotten ten minutes after its last use', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const kept = createKeptUnpacked(archives.scratch);
  const unpacked = join(archives.outside, 'unpacked.git');
  await mkdir(unpacked);
  const first = await kept.keep('id', unpacked, 1);
  vi.advanceTimersByTime(60 * 60_000);
  const second = kept.borrow('id');
  expect(second?.gitDir).toBe(first.gitDir);
  first.giveBack();
  second?.giveBack();
  vi.advanceTimersByTime(9 * 60_000);
  kept.borrow('id')?.giveBack();
  vi.advanceTimersByTime(9 * 60_000);
  expect(kept.borrow('id')).not.toBeNull();
});

it('eight archives are kept, and none is removed while it is being read', async () => {
  const kept = createKeptUnpacked(archives.scratch);
  const make = async (id: string, bytes: number) => {
    const unpacked = join(archives.outside, `${id}.git`);
    await mkdir(unpacked);
    await writeFile(join(unpacked, 'HEAD'), id);
    return kept.keep(id, unpacked, bytes);
  };
  const first = await make('0', 1);
  for (let n = 1; n < 9; n++) (await make(`${n}`, 1)).giveBack();
  expect(kept.borrow('0')).toBeNull();
  expect(await archives.unpacked()).toHaveLength(9);
  first.giveBack();
  await vi.waitFor(async () => expect(await archives.unpacked()).toHaveLength(8));
  // One that is as large as all may be together is the only one kept.
  (await make('large', 2 * 2 ** 30)).giveBack();
  await vi.waitFor(async () => expect(await archives.unpacked()).toHaveLength(1));
  const larger = await make('larger', 2 * 2 ** 30 + 1);
  expect(larger.gitDir).toBe(join(archives.outside, 'larger.git'));
  expect(kept.borrow('larger')).toBeNull();
});
