import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createDiskRoom, neededBytes } from '../../../lib/worker/backup/disk-room.ts';

const MiB = 2 ** 20;

describe('the space that a repository needs', () => {
  it.each([
    ['objects and archive of a new one', 100, 0, 200],
    ['twice what it has grown', 100, 80, 40],
    ['none if it has shrunk', 50, 80, 0],
    ['none if the size is unknown', null, 80, 0],
  ])('is %s', (_what, size, archived, needed) => {
    expect(neededBytes(size, archived)).toBe(needed);
  });
});

it('refuses a repository that does not fit beside those being fetched, until they are done', async () => {
  const room = createDiskRoom('/archives', async () => 100 * MiB);
  const leave = await room.reserve(70 * MiB);
  await expect(room.reserve(31 * MiB)).rejects.toThrow(
    'not enough disk space: about 31.0 MiB needed, 100.0 MiB free, of which other repositories need 70.0 MiB',
  );
  await room.reserve(30 * MiB);
  leave();
  leave();
  await room.reserve(70 * MiB);
  await expect(room.reserve(1)).rejects.toThrow('not enough disk space');
});

it("reads the free space of the folder's file system", async () => {
  const room = createDiskRoom(tmpdir());
  await room.reserve(1);
  await expect(room.reserve(2 ** 60)).rejects.toThrow('not enough disk space: about 1048576.0 TiB');
});
