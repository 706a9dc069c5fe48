import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openGathering } from '../../lib/stores/base/gathering-file.ts';
import { useTemporaryFolder } from '../support/folders.ts';

const folder = useTemporaryFolder();

it.each([0, 1, 1_000, 2 ** 20, 3_500_000])(
  'a gathering file writes %i bytes in pieces, and appends to them',
  async (size) => {
    const path = join(folder, 'file');
    const bytes = randomBytes(size);
    for (const flags of ['w', 'a'] as const) {
      // A file can receive more bytes than announced.
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

it('a gathering file reports a full disk when it is closed', async () => {
  const file = await openGathering('/dev/full', 'w', 1_000);
  await file.write(randomBytes(1_000));
  await expect(file.close()).rejects.toMatchObject({ code: 'ENOSPC' });
});

it('a gathering file reports a full disk while it is written', async () => {
  const file = await openGathering('/dev/full', 'w', 1_000);
  await expect(file.write(randomBytes(20_000))).rejects.toMatchObject({ code: 'ENOSPC' });
  await expect(file.close()).rejects.toMatchObject({ code: 'ENOSPC' });
});
