import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { beforeAll, beforeEach } from 'vitest';
import { formatManifest, hashText, parseManifest } from '../../lib/archives/base/manifest.ts';
import type { Clock } from '../../lib/clock.ts';
import { type ParsedKey, parseKey } from '../../lib/stores/base/layout.ts';
import type { TestDatabase } from './databases.ts';
import { copyFolder } from './folders.ts';
import { latest } from './hooks.ts';
import { prepareOnce } from './prepare-once.ts';
import { type S3Server, useS3Server } from './s3-server.ts';
import { useVersionedApp, type VersionedApp, withIncrements } from './versioned-app.ts';
import { callWorker, type WorkerCall } from './worker.ts';

/** A kind of store to test with. */
export interface StoreKind {
  place: 'folder' | 'bucket';
  isEncrypted: boolean;
  /** The name of the repository after `local/`; default `app`. */
  name?: string;
}

/** Each place and each form once, with names for tests: where bytes go and what they contain are independent. */
export const storeKinds: [string, StoreKind][] = [
  ['a folder', { place: 'folder', isEncrypted: false }],
  ['an encrypted bucket', { place: 'bucket', isEncrypted: true }],
];

/** A machine with a repository that it backs up to a store, and another machine with nothing. */
export interface StoreWorld extends VersionedApp {
  server: S3Server;
  /** The address of the store. */
  address: string;
  /** The address of another store, which is empty. */
  other: string;
  namesKey: string;
  /** Backs up to the store. */
  store(): ReturnType<typeof callWorker>;
  /** Backs up the repository in its first state: really in one test; the others get a copy of the result. */
  storeFirst(): ReturnType<typeof callWorker>;
  /** Deletes everything of the machine but the repository: archives, and the records of the stores. */
  loseMachine(): Promise<void>;
  /** The folder of the other machine. */
  elsewhere: string;
  /** Runs the worker on the other machine. The identity is in `identity.txt` there. */
  call(
    args: string[],
    options?: Pick<WorkerCall, 'env' | 'clock' | 'signal' | 'isTerminal'>,
  ): ReturnType<typeof callWorker>;
  /** `--identity` if it is needed. */
  withIdentity: string[];
  /** Every object of the store by key. */
  objects(): Promise<{ key: string; parsed: ParsedKey | null; path: string }[]>;
  /** Copies an object to another key without the store's knowledge. */
  forge(key: string, from: string): Promise<void>;
  /** Removes an object without the store's knowledge. */
  lose(key: string): Promise<void>;
}

/** A clock that never waits. */
const hastyClock: Clock = {
  now: () => Date.now(),
  sleep: async (_ms, signal) => signal?.throwIfAborted(),
};

/** Gives each test a world, always with the same addresses. */
export function useStoreWorld(database: TestDatabase, kind: StoreKind): StoreWorld {
  const app = useVersionedApp(database, kind.name);
  const server = useS3Server();
  let identity: string;
  let current: StoreWorld;
  const world = latest(() => current);
  const storeFirst = prepareOnce(world, database, () => world.store());
  beforeAll(async () => {
    identity = await generateIdentity();
  });
  beforeEach(async () => {
    server.fail(null);
    for (const name of await readdir(server.folder)) {
      await rm(join(server.folder, name), { recursive: true });
    }
    current = { ...(await createStoreWorld(app, server, kind, identity)), storeFirst };
  });
  return world;
}

async function createStoreWorld(
  app: VersionedApp,
  server: S3Server,
  { place, isEncrypted }: StoreKind,
  identity: string,
): Promise<Omit<StoreWorld, 'storeFirst'>> {
  const elsewhere = join(app.folder, 'elsewhere');
  const namesKey = 'a key of names that is long enough for it';
  await mkdir(elsewhere);
  const lines = ['# created: today', `# public key: age1`, identity, ''];
  await writeFile(join(elsewhere, 'identity.txt'), lines.join('\n'));
  const addressOf = async (name: string) => {
    if (place === 'bucket') return server.address(name, '&private=yes');
    await mkdir(join(app.folder, name));
    return `file://${join(app.folder, name)}`;
  };
  const address = await addressOf('store');
  const secrets = {
    BACKUP_AGE_RECIPIENTS: await identityToRecipient(identity),
    BACKUP_NAMES_KEY: namesKey,
  };
  const root = join(place === 'folder' ? app.folder : server.folder, 'store');
  /** The server keeps an object in a file with a suffix, and its metadata in others. */
  const suffix = place === 'folder' ? '' : '._S3rver_object';
  const facts = ['._S3rver_metadata.json', '._S3rver_object.md5'];
  return {
    ...app,
    folders: [app.folder, server.folder],
    ...{ server, address, namesKey, elsewhere },
    other: await addressOf('other'),
    withIdentity: isEncrypted ? ['--identity', 'identity.txt'] : [],
    store: () =>
      app.backUp({ BACKUP_STORES: address, ...(isEncrypted ? secrets : {}), ...withIncrements }),
    async loseMachine() {
      await rm(app.archives, { recursive: true });
      await rm(`${app.archives}-data`, { recursive: true });
    },
    call: (args, options = {}) =>
      callWorker({
        databaseUrl: 'postgres://127.0.0.1:1/none',
        archives: join(elsewhere, 'none'),
        folder: elsewhere,
        args,
        clock: hastyClock,
        ...options,
      }),
    async objects() {
      const entries = await readdir(root, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile() && entry.name.endsWith(suffix))
        .map((entry) => join(entry.parentPath, entry.name))
        .map((path) => {
          const key = path.slice(root.length + 1, path.length - suffix.length);
          return { key, parsed: parseKey(key), path };
        })
        .sort((one, other) => (one.key < other.key ? -1 : 1));
    },
    async forge(key, from) {
      const files = place === 'folder' ? [''] : [suffix, ...facts];
      for (const one of files)
        await copyFile(`${join(root, from)}${one}`, `${join(root, key)}${one}`);
    },
    async lose(key) {
      const path = `${join(root, key)}${suffix}`;
      await rm(path);
      if (place === 'bucket') await rm(path.replace(suffix, '._S3rver_metadata.json'));
    },
  };
}

/**
 * Puts a copy of a stored archive beside it, as if it were the archive of another repository: its manifest, its note
 * and its states say so. `from` and `to` are its folders. The archive has one version and is not encrypted.
 */
export async function copyStored(
  from: string,
  to: string,
  repository: string,
  note: Record<string, unknown> = {},
): Promise<void> {
  await copyFolder(from, to);
  const objects = join(to, 'objects');
  let manifest = { before: '', after: '', size: 0 };
  for (const file of await readdir(objects)) {
    if (!/^[0-9a-f]{64}(?:\._S3rver_object)?$/.test(file)) continue;
    const found = parseManifest(await readFile(join(objects, file), 'utf8'));
    if (found === null) continue;
    const text = formatManifest({ ...found, repository });
    await writeFile(join(objects, file), text);
    const size = Buffer.byteLength(text);
    manifest = { before: file.slice(0, 64), after: hashText(text), size };
  }
  const { before, after, size } = manifest;
  for (const file of await readdir(objects)) {
    await rename(join(objects, file), join(objects, file.replace(before, after)));
  }
  for (const file of await readdir(join(to, 'states'))) {
    if (!/^\d+\.json(?:\._S3rver_object)?$/.test(file)) continue;
    const path = join(to, 'states', file);
    const text = await readFile(path, 'utf8');
    const names = text.replaceAll(basename(from), basename(to)).replaceAll(before, after);
    const state = JSON.parse(names);
    for (const one of state.files) {
      if (one.sha256 === after) Object.assign(one, { size_bytes: size, stored_bytes: size });
    }
    const changed = { ...JSON.parse(state.note), repository, ...note };
    await writeFile(path, JSON.stringify({ ...state, repository, note: JSON.stringify(changed) }));
  }
}
