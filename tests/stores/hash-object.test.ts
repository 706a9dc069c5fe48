import { createHash, randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Encrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import type { ObjectStore } from '../../lib/stores/base/object-store.ts';
import { createFolderStore } from '../../lib/stores/folder-store.ts';
import { hashDecrypted, hashObject } from '../../lib/stores/reading/hash-object.ts';
import { useTemporaryFolder } from '../support/folders.ts';

const folder = useTemporaryFolder();

const { signal } = new AbortController();
const objects = () =>
  createFolderStore(
    { kind: 'folder', path: folder, text: `file://${folder}` },
    { signal, pace: async () => undefined },
  );
const readingOf = (read: ObjectStore['read']) => ({
  objects: { ...objects(), read },
  clock: systemClock,
  signal,
});

it('hashObject reads no more bytes of an object than were listed', async () => {
  const reading = readingOf(objects().read);
  await mkdir(join(folder, 'archives'));
  await writeFile(join(folder, 'archives', 'one'), 'abc');
  const hash = (sizeBytes: number) => hashObject(reading, { key: 'archives/one', sizeBytes });
  expect(await hash(3)).toMatch(/^ba7816bf8f01cfea414140de5dae2223/);
  await expect(hash(2)).rejects.toThrow('is longer than the 2 bytes');
});

it.each([
  ['altered', 400],
  ['encrypted for others', null],
])(
  'hashDecrypted reads an object only once if it cannot be decrypted because it is %s',
  async (_what, altered) => {
    const [own, other] = [await generateIdentity(), await generateIdentity()];
    const encrypter = new Encrypter();
    encrypter.addRecipient(await identityToRecipient(altered === null ? other : own));
    const stored = await encrypter.encrypt(randomBytes(200_000));
    if (altered !== null) stored[altered] = (stored[altered] ?? 0) ^ 1;
    await mkdir(join(folder, 'archives'));
    await writeFile(join(folder, 'archives', 'one'), stored);
    let reads = 0;
    const reading = readingOf((key, from) => {
      reads++;
      return objects().read(key, from);
    });
    const object = { key: 'archives/one', sizeBytes: stored.length };
    expect(await hashDecrypted({ ...reading, identities: [own] }, object)).toEqual({
      stored: createHash('sha256').update(stored).digest('hex'),
      plain: null,
    });
    expect(reads).toBe(1);
  },
);
