import { createHash } from 'node:crypto';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { manifestFolder, manifestName } from '../../archives/base/manifest.ts';
import { noteName, parseNote } from '../../archives/base/note.ts';
import { objectKey, parseKey, plainNaming } from '../../stores/base/layout.ts';
import { StoreFault } from '../../stores/base/object-store.ts';
import { formatState, MAX_STATE_BYTES, type StateFile } from '../../stores/base/store-state.ts';
import type { OpenStore } from '../../stores/open-stores.ts';
import { hashObject } from '../../stores/reading/hash-object.ts';
import type { KeptArchive } from '../archive/archive.ts';
import type { LedgerEntry } from './ledger.ts';
import { encryptToOutbox, type OutgoingFile } from './outbox.ts';
import type { SendContext } from './send-context.ts';
import { describeNewer, sendState } from './send-state.ts';
import { extendChain } from './state-chain.ts';

/** Before sending a larger file, checks whether the store already has it. */
const MAX_UNCHECKED_BYTES = 8 * 2 ** 20;
/** How many of its own states a machine recognizes. */
const MAX_OWN_STATES = 64;
/** How many keys of an archive are remembered whose objects are read before they count as stored. */
const MAX_DOUBTED = 64;
/** Attempts to store an object that another worker is storing at the same time. */
const MAX_TRIES = 4;
const PAUSE_MS = 1_000;

/** Whether the store has everything of a local archive, according to the ledger. */
export function isStored(
  entry: LedgerEntry | null,
  archive: KeptArchive,
  isEncrypted: boolean,
): boolean {
  if (entry === null || entry.state === null || !fits(entry, isEncrypted)) return false;
  return entry.content === identifyFiles(listFiles(archive));
}

/**
 * Whether a new state may list what an entry records. When encryption is turned on or off, the archive starts over
 * under another name: nobody could restore a state in which only some objects are encrypted.
 */
function fits({ archive, archive_name, files }: LedgerEntry, isEncrypted: boolean): boolean {
  const isNamed = (archive_name !== plainNaming.archive(archive)) === isEncrypted;
  return isNamed && files.every(({ key }) => parseKey(key)?.isEncrypted === isEncrypted);
}

/**
 * Stores whatever a store lacks of an archive, and then a state that lists all of it. Throws StoreFault, file system
 * errors, or the signal's reason.
 */
export async function sendArchive(
  context: SendContext,
  repository: string,
  archive: KeptArchive,
): Promise<void> {
  const { ledger, naming, archiveFolder, store } = context;
  const { key } = archive;
  const wanted = listFiles(archive);
  const before = await ledger.read(key);
  const isFit = before !== null && fits(before, context.cipher !== null);
  let entry: LedgerEntry = isFit
    ? before
    : {
        format: 1,
        archive: key,
        archive_name: naming.archive(key),
        state: null,
        own_states: before?.own_states ?? [],
        chain: null,
        last_number: 0,
        content: null,
        files: [],
        damaged: [],
        replaced: before?.replaced ?? [],
      };
  const outbox = join(store.folder, 'outbox', key);
  const files: StateFile[] = [];
  for (const { name, sha256 } of wanted) {
    const known = entry.files.find((file) => file.sha256 === sha256);
    if (known !== undefined) {
      files.push({ ...known, name });
      continue;
    }
    const file = await sendFile(context, entry, outbox, { name, sha256 });
    files.push(file);
    entry = { ...entry, files: [...entry.files, file] };
    await ledger.write(entry);
  }
  const note = await readFile(join(archiveFolder, noteName(key)), 'utf8');
  if (parseNote(note)?.archive_sha256 !== archive.record.archive_sha256) {
    throw new Error(`the note of ${key} has changed while the archive was stored`);
  }
  const at = new Date(context.clock.now()).toISOString();
  const state = formatState({ format: 1, repository, archive: key, at, note, files });
  if (entry.last_number === 0) {
    const last_number = await context.lastNumber(entry.archive_name);
    if (last_number > 0) await context.onRemark(describeNewer(store));
    entry = { ...entry, last_number };
  }
  if (Buffer.byteLength(state) > MAX_STATE_BYTES) {
    throw new StoreFault('other', `${store.address.text}: ${key} has too many files`);
  }
  const stored = await sendState(context, entry, outbox, state);
  // Objects that only older states use are left to `store prune`.
  const content = identifyFiles(wanted);
  const last_number = stored.number;
  const own_states = [...entry.own_states, stored.stored_sha256].slice(-MAX_OWN_STATES);
  const chain = await extendChain(context.archiveFolder, entry, archive, stored.number);
  await ledger.write({
    ...{ ...entry, files, state: stored, own_states, chain, last_number, content },
    damaged: [],
    replaced: findReplaced(entry, files),
  });
  await rm(outbox, { recursive: true, force: true });
}

function findReplaced({ damaged, replaced }: LedgerEntry, files: readonly StateFile[]): string[] {
  const needed = new Set(files.map(({ key }) => key));
  const keys = [...replaced, ...damaged].filter((key) => !needed.has(key));
  return [...new Set(keys)].slice(-MAX_DOUBTED);
}

/** The files of an archive that a state lists: bundles, and the manifests of its versions. */
function listFiles({ key, record }: KeptArchive): { name: string; sha256: string }[] {
  const { archive_sha256, increments, versions } = record;
  return [
    { name: key, sha256: archive_sha256 },
    ...increments.map(({ name, sha256 }) => ({ name, sha256 })),
    ...versions.map(({ version, manifest_sha256 }) => ({
      name: `${manifestFolder(key)}/${manifestName(version)}`,
      sha256: manifest_sha256,
    })),
  ];
}

function identifyFiles(files: readonly { name: string; sha256: string }[]): string {
  const lines = files.map(({ name, sha256 }) => `${sha256} ${name}\n`);
  return createHash('sha256').update(lines.join('')).digest('hex');
}

async function sendFile(
  context: SendContext,
  entry: LedgerEntry,
  outbox: string,
  { name, sha256 }: { name: string; sha256: string },
): Promise<StateFile> {
  const { store, naming, cipher, archiveFolder, signal } = context;
  const { archive_name, damaged } = entry;
  const path = join(archiveFolder, name);
  const { size: size_bytes } = await stat(path);
  const content = naming.content(sha256);
  const facts = { name, sha256, size_bytes };
  if (size_bytes > MAX_UNCHECKED_BYTES) {
    // Another worker may have stored it, or this one before it lost its DATA_DIR.
    const found = await findObject(store, archive_name, content, cipher !== null);
    const isWhole = cipher !== null || found?.stored_bytes === size_bytes;
    if (found !== null && isWhole && !damaged.includes(found.key)) return { ...facts, ...found };
  }
  if (cipher === null) {
    const key = objectKey(archive_name, content, null);
    await putOrDoubt(context, entry, key, { path, sha256, sizeBytes: size_bytes });
    return { ...facts, key, stored_bytes: size_bytes };
  }
  const encrypted = await encryptToOutbox(outbox, { path, sha256 }, cipher, signal);
  const key = objectKey(archive_name, content, encrypted.sha256);
  try {
    await putOrDoubt(context, entry, key, encrypted);
  } catch (error) {
    // The next attempt encrypts it again.
    if (error instanceof StoreFault && error.kind === 'damaged') await encrypted.remove();
    throw error;
  }
  await encrypted.remove();
  return { ...facts, key, stored_bytes: encrypted.sizeBytes };
}

/**
 * Null also if there are several: an encrypted object cannot be read here, and anyone with write access could have put
 * a second one beside the right one.
 */
async function findObject(
  { objects }: OpenStore,
  archiveName: string,
  content: string,
  isEncrypted: boolean,
): Promise<{ key: string; stored_bytes: number } | null> {
  const candidates: { key: string; stored_bytes: number }[] = [];
  for await (const { key, sizeBytes } of objects.list(objectKey(archiveName, content, null))) {
    const parsed = parseKey(key);
    if (parsed?.kind !== 'object' || parsed.isEncrypted !== isEncrypted) continue;
    candidates.push({ key, stored_bytes: sizeBytes });
    if (candidates.length > 1) return null;
  }
  return candidates[0] ?? null;
}

/** Like `put`. What a failed attempt may have left under the key is read before it counts as stored. */
async function putOrDoubt(
  context: SendContext,
  entry: LedgerEntry,
  key: string,
  file: Omit<OutgoingFile, 'remove'>,
): Promise<void> {
  try {
    await put(context, key, file, entry.damaged);
  } catch (error) {
    const damaged = [...new Set([...entry.damaged, key])].slice(-MAX_DOUBTED);
    await context.ledger.write({ ...entry, damaged });
    throw error;
  }
}

/** Stores an object whose name identifies its content. If it already exists, its size must match. */
async function put(
  { store: { objects, address }, clock, signal }: SendContext,
  key: string,
  file: Omit<OutgoingFile, 'remove'>,
  damaged: readonly string[],
): Promise<void> {
  for (let tries = 1; tries <= MAX_TRIES; tries++) {
    if (await objects.create(key, file)) return;
    for await (const found of objects.list(key)) {
      if (found.key !== key) continue;
      const isWhole =
        found.sizeBytes === file.sizeBytes &&
        (!damaged.includes(key) ||
          (await hashObject({ objects, clock, signal }, found)) === file.sha256);
      if (isWhole) return;
      const todo = 'remove it with credentials that allow it, and it will be stored again';
      throw new StoreFault('damaged', `${address.text}: ${key} is damaged: ${todo}`);
    }
    // Another worker is still storing it, or gave up.
    await clock.sleep(tries * PAUSE_MS, signal);
  }
  throw new StoreFault('other', `${address.text}: another worker is storing ${key}`);
}
