import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { parseStoreAddress } from '../../../lib/config/stores/store-address.ts';
import { type Cipher, createCipher } from '../../../lib/stores/base/age-file.ts';
import {
  createSecretNaming,
  keysOf,
  parseKey,
  plainNaming,
  README_KEY,
  stateKey,
} from '../../../lib/stores/base/layout.ts';
import type { ObjectStore } from '../../../lib/stores/base/object-store.ts';
import { openStores } from '../../../lib/stores/open-stores.ts';
import { readArchiveRecord } from '../../../lib/worker/archive/archive.ts';
import { checkListing } from '../../../lib/worker/offsite/check-listing.ts';
import { createLastNumbers } from '../../../lib/worker/offsite/last-numbers.ts';
import { type LedgerEntry, openLedger } from '../../../lib/worker/offsite/ledger.ts';
import { sendArchive } from '../../../lib/worker/offsite/send-archive.ts';
import { useDatabase } from '../../support/hooks.ts';
import type { S3Answer } from '../../support/s3-answers.ts';
import { type S3Fault, type S3Request, useS3Server } from '../../support/s3-server.ts';
import { useVersionedApp } from '../../support/versioned-app.ts';

const database = useDatabase();
const world = useVersionedApp(database);
const KEY = 'local__app.bundle';
const server = useS3Server();

/** Lists only one object, and a README: a check reads a few objects at random. */
const onlyOf = (objects: ObjectStore, only: string): ObjectStore['list'] =>
  async function* (from, after) {
    if (from === README_KEY) yield { key: README_KEY, sizeBytes: 1, storedMs: 0 };
    for await (const object of objects.list(from, after)) if (object.key === only) yield object;
  };

/** A machine with the archive and its own ledger of the store. */
async function machine(name: string, address: string, cipher: Cipher | null = null) {
  const [store] = await openStores([parseStoreAddress(address)], {
    environment: {},
    folder: join(world.folder, name),
    bytesPerSecond: null,
    clock: systemClock,
    signal: new AbortController().signal,
    onRemark: () => undefined,
  });
  if (store === undefined) throw new Error('there is no store');
  const remarks: string[] = [];
  const ledger = openLedger(store.folder);
  const key = 'a key for names, of more than 32 characters';
  const naming = cipher === null ? plainNaming : createSecretNaming(key);
  // In the same millisecond, two machines would write identical states.
  const clock = { ...systemClock, now: () => systemClock.now() + (name === 'two' ? 1_000 : 0) };
  const send = async () => {
    const record = await readArchiveRecord(world.archives, KEY);
    if (record === null) throw new Error('there is no archive');
    const context = {
      ...{ store, ledger, naming, cipher, archiveFolder: world.archives },
      ...{ clock, signal: new AbortController().signal },
      lastNumber: createLastNumbers(store.objects),
      onRemark: async (text: string) => void remarks.push(text),
    };
    await sendArchive(context, 'local/app', { key: KEY, record });
    return (await ledger.read(KEY))?.state?.number;
  };
  const states = async () => {
    const numbers: number[] = [];
    for await (const { key } of store.objects.list(keysOf(naming.archive(KEY)))) {
      const parsed = parseKey(key);
      if (parsed?.kind === 'state') numbers.push(parsed.number);
    }
    return numbers;
  };
  /** What the ledger says of the store: the hash of each object, by key. */
  const recorded = async () => {
    const { files = [], state = null } = (await ledger.read(KEY)) ?? {};
    const ofFiles = files.map(({ key }) => [key, /[0-9a-f]{64}(?=\.age$|$)/.exec(key)?.[0]]);
    return [...ofFiles, ...(state === null ? [] : [[state.key, state.stored_sha256]])];
  };
  /** The same of what the store really has. */
  const stored = async (keys: (string | undefined)[]) =>
    Promise.all(
      keys.map(async (key = '') => {
        const hash = createHash('sha256');
        for await (const chunk of (await store.objects.read(key)) ?? []) hash.update(chunk);
        return [key, hash.digest('hex')];
      }),
    );
  const checkRecords = async () => {
    const records = await recorded();
    expect(await stored(records.map(([key]) => key ?? ''))).toEqual(records);
    return records.length;
  };
  const { objects, folder } = store;
  return { send, states, remarks, checkRecords, objects, folder, store, ledger };
}

it.each(['a folder', 'a bucket'])(
  'two machines that store at once get separate states in %s',
  async (kind) => {
    await world.backUpFirst();
    const folder = join(world.folder, 'nas');
    await mkdir(folder);
    const address = kind === 'a folder' ? `file://${folder}` : server.address('two');
    const machines = await Promise.all(['one', 'two'].map((name) => machine(name, address)));
    const numbers = await Promise.all(machines.map(({ send }) => send()));
    expect(numbers.sort()).toEqual([1, 2]);
    expect(await machines[0]?.states()).toEqual([1, 2]);
    expect(machines.flatMap(({ remarks }) => remarks)).toHaveLength(1);
  },
);

/** Creates a folder with two states, the first of which was pruned, and returns its address. */
async function prunedFolder() {
  const folder = join(world.folder, 'nas');
  await mkdir(folder);
  const address = `file://${folder}`;
  await world.backUp();
  const one = await machine('one', address);
  await one.send();
  await world.app.commit({ 'b.txt': 'more' });
  await world.backUp();
  expect(await one.send()).toBe(2);
  await one.objects.remove(stateKey('local__app', 1, false));
  return { address, one };
}

it('a machine numbers its state after those of another machine, even if the first was pruned', async () => {
  const { address } = await prunedFolder();
  const two = await machine('two', address);
  expect(await two.send()).toBe(3);
  expect(await two.states()).toEqual([2, 3]);
  expect(two.remarks).toHaveLength(1);
});

it('a machine stores nothing after the state with the highest possible number', async () => {
  const { address, one } = await prunedFolder();
  const path = join(world.folder, 'forged');
  await writeFile(path, 'a state');
  const sha256 = createHash('sha256').update('a state').digest('hex');
  const key = stateKey('local__app', 99_999_999, false);
  await one.objects.create(key, { path, sizeBytes: 7, sha256 });
  const two = await machine('two', address);
  await expect(two.send()).rejects.toThrow(`no state can follow ${key}`);
  expect(await two.states()).toEqual([2, 99_999_999]);
});

it('a large encrypted object counts as stored only if nobody put another one beside it', async () => {
  await world.app.commit({ 'large.txt': randomBytes(9 * 2 ** 20).toString('base64') });
  await world.backUp();
  const folder = join(world.folder, 'nas');
  await mkdir(folder);
  const cipher = createCipher([await identityToRecipient(await generateIdentity())]);
  const one = await machine('one', `file://${folder}`, cipher);
  await one.send();
  const objects = async () => {
    const found: string[] = [];
    for await (const { key, sizeBytes } of one.objects.list(keysOf()))
      if (parseKey(key)?.kind === 'object' && sizeBytes > 8 * 2 ** 20) found.push(key);
    return found;
  };
  const [large = ''] = await objects();
  expect(await (await machine('two', `file://${folder}`, cipher)).send()).toBe(2);
  expect(await objects()).toEqual([large]);
  const forged = randomBytes(9 * 2 ** 20);
  const sha256 = createHash('sha256').update(forged).digest('hex');
  const path = join(world.folder, 'forged');
  await writeFile(path, forged);
  const key = large.replace(/-[0-9a-f]{64}/, `-${sha256}`);
  await one.objects.create(key, { path, sizeBytes: forged.length, sha256 });
  expect(await (await machine('three', `file://${folder}`, cipher)).send()).toBe(3);
  expect(await objects()).toHaveLength(3);
});

const isState = ({ key, method }: S3Request) => method === 'PUT' && key.includes('/states/');

it('a machine recognizes its own state if the answer to storing it was lost', async () => {
  await world.backUpFirst();
  const { send, states, remarks } = await machine('one', server.address('lost'));
  let lost = 0;
  server.fail((request) => (isState(request) && lost++ === 0 ? 'answer lost' : undefined));
  expect(await send()).toBe(1);
  server.fail(null);
  expect({ states: await states(), lost, remarks }).toEqual({ states: [1], lost: 2, remarks: [] });
});

it.each<[string, S3Fault]>([
  ['denied', { status: 403, code: 'AccessDenied' }],
  ['told of a wrong checksum', { status: 400, code: 'BadDigest' }],
  ['told that the token has expired', { status: 400, code: 'ExpiredToken' }],
])('a machine that is %s halfway records nothing, and continues later', async (what, fault) => {
  await world.backUpFirst();
  const { send, states } = await machine('one', server.address(what.replaceAll(' ', '-')));
  server.fail((request) => (isState(request) ? fault : undefined));
  await expect(send()).rejects.toMatchObject({ name: 'StoreFault' });
  server.fail(null);
  expect(await states()).toEqual([]);
  server.takeRequests();
  expect(await send()).toBe(1);
  // The objects are already there.
  expect(server.takeRequests().filter(({ method }) => method === 'PUT')).toHaveLength(1);
});

it.each<[string, S3Fault | S3Answer]>([
  ['cut', 'cut'],
  ['handled and its answer lost', 'answer lost'],
  ['refused as too frequent', { status: 503, code: 'SlowDown' }],
  ['refused as taken', { status: 412, code: 'PreconditionFailed' }],
  ['refused as damaged', { status: 400, code: 'BadDigest' }],
  ['answered with a wrong checksum', { sha256: 'wrong' }],
  [
    'handled with damage, and answered with a hash of something else',
    { hasOtherTag: true, isDamaging: true },
  ],
])('a machine records only what a store has, whichever request is %s', async (what, fault) => {
  await world.backUpFirst();
  const isDamaging = typeof fault === 'object' && 'isDamaging' in fault;
  for (let index = 1; ; index++) {
    const name = `${what.replaceAll(/\W+/g, '-')}-${index}`;
    const { send, checkRecords, objects } = await machine(name, server.address(name));
    let count = 0;
    let key = '';
    const isMeant = (request: S3Request) => {
      if (++count === index) key = request.key.slice(name.length + 1);
      return count === index;
    };
    if (typeof fault === 'string' || 'status' in fault) {
      server.fail((request) => (isMeant(request) ? fault : undefined));
    } else server.answer((request) => (isMeant(request) ? fault : {}));
    const first = await send().catch((reason: unknown) => reason);
    server.fail(null);
    server.answer(null);
    await checkRecords();
    if (first instanceof Error) expect(first).toMatchObject({ name: 'StoreFault' });
    else expect(first).toBeGreaterThan(0);
    if (isDamaging && parseKey(key)?.kind === 'object') {
      await expect(send()).rejects.toThrow(`${key} is damaged: remove it`);
      await objects.remove(key);
    }
    await send();
    expect(await checkRecords()).toBe(3);
    if (count < index) break;
  }
});

it('an object that a store spoilt and that was stored anew is told of once', async () => {
  await world.backUpFirst();
  const cipher = createCipher([await identityToRecipient(await generateIdentity())]);
  const { send, store, ledger } = await machine('one', server.address('spoilt'), cipher);
  let spoilt = '';
  server.answer(({ method, key }) => {
    if (method !== 'PUT' || !key.includes('/objects/') || spoilt !== '') return {};
    spoilt = key.slice('spoilt/'.length);
    return { hasOtherTag: true, isDamaging: true };
  });
  await expect(send()).rejects.toMatchObject({ kind: 'damaged' });
  expect(await send()).toBe(1);
  server.answer(null);
  expect((await ledger.read(KEY))?.replaced).toEqual([spoilt]);
  const entry = await ledger.read(KEY);
  const objects = { ...store.objects, list: onlyOf(store.objects, spoilt) };
  const reading = { clock: systemClock, signal: new AbortController().signal };
  const { damaged } = await checkListing({ ...store, objects }, ledger, '', reading);
  expect(damaged).toEqual([]);
  await ledger.write({ ...(entry as LedgerEntry), replaced: [] });
  expect(await checkListing({ ...store, objects }, ledger, '', reading)).toMatchObject({
    damaged: expect.arrayContaining([spoilt]),
  });
});

it('a file is encrypted again if its encrypted copy was damaged before sending', async () => {
  await world.backUpFirst();
  const cipher = createCipher([await identityToRecipient(await generateIdentity())]);
  const { send, states, folder } = await machine('one', server.address('waiting'), cipher);
  const denied = { status: 403, code: 'AccessDenied' };
  server.fail(({ key, method }) =>
    method === 'PUT' && key.includes('/objects/') ? denied : undefined,
  );
  await expect(send()).rejects.toMatchObject({ kind: 'denied' });
  server.fail(null);
  const outbox = join(folder, 'outbox', KEY);
  const [waiting = ''] = (await readdir(outbox)).filter((name) => name.endsWith('.age'));
  const { size } = await stat(join(outbox, waiting));
  await writeFile(join(outbox, waiting), Buffer.alloc(size));
  await expect(send()).rejects.toMatchObject({ kind: 'damaged' });
  expect(await send()).toBe(1);
  expect(await states()).toEqual([1]);
});

it('a chain of states continues when older versions are pruned, and starts over with the archive', async () => {
  await world.backUpFirst();
  const nas = join(world.folder, 'nas');
  await mkdir(nas);
  const { send, folder } = await machine('one', `file://${nas}`);
  const chain = async () => {
    await send();
    const { first, last } = (await openLedger(folder).read(KEY))?.chain ?? {};
    const { versions } = await world.readNote();
    return { first, last, versions: versions.map(({ version }) => version) };
  };
  expect(await chain()).toEqual({ first: 1, last: 1, versions: [1] });
  await world.app.commit({ 'b.txt': 'more' });
  await world.backUp();
  expect(await chain()).toEqual({ first: 1, last: 2, versions: [1, 2] });
  await world.app.commit({ 'c.txt': 'even more' });
  await world.backUp({ BACKUP_KEEP: '1 monthly' });
  // No version is left of the state before.
  expect(await chain()).toEqual({ first: 1, last: 3, versions: [3] });
  await rm(world.archives, { recursive: true });
  await world.backUp();
  expect(await chain()).toMatchObject({ first: 4, last: 4 });
});
