import { randomBytes } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { readChunks } from '../lib/files.ts';
import { useTemporaryFolder } from './support/folders.ts';

const folder = useTemporaryFolder();
const MIB = 2 ** 20;

it.each([0, 1, 4_096, 4_097, MIB, MIB + 1, 3 * MIB + 7])(
  'readChunks returns all %i bytes of a file to a slow reader, from buffers that are reused',
  async (size) => {
    const bytes = randomBytes(size);
    const path = join(folder, 'file');
    await writeFile(path, bytes);
    const copies: Buffer[] = [];
    const memory = new Set<ArrayBufferLike>();
    for await (const chunk of readChunks(path)) {
      // The next chunk is being read meanwhile, and must not touch this one.
      await turn();
      copies.push(Buffer.from(chunk));
      if (size >= MIB) memory.add(chunk.buffer);
    }
    expect(Buffer.concat(copies).equals(bytes)).toBe(true);
    expect(memory.size).toBeLessThanOrEqual(2);
  },
);

it('readChunks closes the file when its reader stops early or throws', async () => {
  const path = join(folder, 'file');
  await writeFile(path, randomBytes(3 * MIB));
  const countOpen = () => readdirSync('/dev/fd').length;
  const before = countOpen();
  for (let times = 0; times < 20; times++) {
    for await (const _chunk of readChunks(path)) break;
    await expect(
      (async () => {
        for await (const _chunk of readChunks(path)) throw new Error('the reader failed');
      })(),
    ).rejects.toThrow('the reader failed');
  }
  expect(countOpen()).toBeLessThanOrEqual(before);
});
