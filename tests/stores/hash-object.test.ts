import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { createFolderStore } from '../../lib/stores/folder-store.ts';
import { hashObject } from '../../lib/stores/reading/hash-object.ts';
import { temporaryFolder } from '../support/git.ts';

let folder: string;
let remove: () => Promise<void>;
beforeEach(async () => {
  ({ path: folder, remove } = await temporaryFolder());
});
afterEach(() => remove());

it('reads no more of an object than it was listed with', async () => {
  const { signal } = new AbortController();
  const address = { kind: 'folder' as const, path: folder, text: `file://${folder}` };
  const objects = createFolderStore(address, { signal, pace: async () => undefined });
  const reading = { objects, clock: systemClock, signal };
  await mkdir(join(folder, 'archives'));
  await writeFile(join(folder, 'archives', 'one'), 'abc');
  const hash = (sizeBytes: number) => hashObject(reading, { key: 'archives/one', sizeBytes });
  expect(await hash(3)).toMatch(/^ba7816bf8f01cfea414140de5dae2223/);
  await expect(hash(2)).rejects.toThrow('is longer than the 2 bytes');
});
