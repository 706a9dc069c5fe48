import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openGathering } from '../../lib/stores/gathering-file.ts';
import { useTemporaryFolder } from '../support/folders.ts';

const folder = useTemporaryFolder();

it.each([0, 1, 1_000, 2 ** 20, 3_500_000])(
  'writes %i bytes in pieces, and adds to them',
  async (size) => {
    const path = join(folder, 'file');
    const bytes = randomBytes(size);
    for (const flags of ['w', 'a'] as const) {
      // A file can get more than was announced.
      const file = await openGathering(path, flags, size / 2);
      const piece = Buffer.alloc(70_000);
      for (let at = 0; at < size; at += piece.length) {
        const length = bytes.copy(piece, 0, at);
        await file.write(piece.subarray(0, length));
      }
      await file.close();
    }
    expect((await readFile(path)).equals(Buffer.concat([bytes, bytes]))).toBe(true);
  },
);

it('tells on closing that the disk was full', async () => {
  const file = await openGathering('/dev/full', 'w', 1_000);
  await file.write(randomBytes(1_000));
  await expect(file.close()).rejects.toMatchObject({ code: 'ENOSPC' });
});

it('tells while it is written that the disk is full', async () => {
  const file = await openGathering('/dev/full', 'w', 1_000);
  await expect(file.write(randomBytes(20_000))).rejects.toMatchObject({ code: 'ENOSPC' });
  await expect(file.close()).rejects.toMatchObject({ code: 'ENOSPC' });
});
