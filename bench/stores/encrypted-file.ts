import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { systemClock } from '../../lib/clock.ts';
import { parseStoreAddress } from '../../lib/config/stores/store-address.ts';
import { createCipher, encryptFile } from '../../lib/stores/base/age-file.ts';
import { createSecretNaming, objectKey } from '../../lib/stores/base/layout.ts';
import type { StateFile } from '../../lib/stores/base/store-state.ts';
import { openStores } from '../../lib/stores/open-stores.ts';
import { fetchFile } from '../../lib/stores/reading/fetch-file.ts';

/** A file on this machine. */
export interface LocalFile {
  path: string;
  sha256: string;
  sizeBytes: number;
}

/** Uploads and downloads files, encrypted and verified like in the worker. */
export interface EncryptedFiles {
  send(file: LocalFile, name: string): Promise<StateFile>;
  /** Downloads into the file `down` of the folder. Fails if the content differs. */
  receive(stored: StateFile): Promise<void>;
  remove(stored: StateFile): Promise<void>;
}

export async function openEncryptedFiles(address: string, folder: string): Promise<EncryptedFiles> {
  const { signal } = new AbortController();
  const onRemark = (text: string) => void process.stderr.write(`${text}\n`);
  const place = { environment: {}, folder, bytesPerSecond: null };
  const options = { ...place, clock: systemClock, signal, onRemark };
  const [store] = await openStores([parseStoreAddress(address)], options);
  if (store === undefined) throw new Error('there is no store');
  const { objects } = store;
  const identity = await generateIdentity();
  const naming = createSecretNaming('a key for names, of more than 32 characters');
  const cipher = createCipher([await identityToRecipient(identity)]);
  return {
    async send({ path, sha256, sizeBytes }, name) {
      const to = join(folder, 'sealed');
      const made = await encryptFile(path, to, cipher, signal);
      if (made.plainSha256 !== sha256) throw new Error('a different file was encrypted');
      const key = objectKey(naming.archive(name), naming.content(sha256), made.sha256);
      await objects.create(key, { path: to, ...made });
      await rm(to);
      return { name: 'down', key, sha256, size_bytes: sizeBytes, stored_bytes: made.sizeBytes };
    },
    receive(stored) {
      const reading = { ...options, objects, identities: [identity] };
      return fetchFile(reading, stored, { path: folder, parts: folder }, () => undefined);
    },
    remove: ({ key }) => objects.remove(key),
  };
}
