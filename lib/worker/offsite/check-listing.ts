import { randomInt } from 'node:crypto';
import { archiveNameOf, keysOf, parseKey, README_KEY } from '../../stores/base/layout.ts';
import { StoreFault } from '../../stores/base/object-store.ts';
import { MAX_STATE_BYTES } from '../../stores/base/store-state.ts';
import type { OpenStore } from '../../stores/open-stores.ts';
import type { StateRef } from '../../stores/reading/find-states.ts';
import { hashObject } from '../../stores/reading/hash-object.ts';
import { ObjectFault } from '../../stores/reading/object-fault.ts';
import { readState } from '../../stores/reading/read-state.ts';
import type { StoreReading } from '../../stores/reading/steady-read.ts';
import type { Ledger, LedgerEntry } from './ledger.ts';

/** How many keys are listed per run. The next run continues where this one ends. */
const MAX_LISTED = 20_000;

/** How many objects are read per run besides a state, and how large they may be. */
const SAMPLE = 2;
const MAX_SAMPLE_BYTES = 32 * 2 ** 20;

/** What a listing showed. */
export interface ListingCheck {
  /** Archives seen in the store with everything that their newest state needs. */
  seen: Set<string>;
  /** Archives that are incomplete in the store. What is missing is stored again. */
  incomplete: string[];
  /** Objects and states whose content is not what was stored. */
  damaged: string[];
  /** Newest states that another machine stored and that are older than this machine's own, which is stored again. */
  older: string[];
  /** Encrypted newest states whose age cannot be determined here. */
  unknown: string[];
  /** Where the next listing begins; empty once the end was reached. */
  cursor: string;
}

/**
 * Compares what a store lists after `cursor` with the ledger, and reads a few objects. What the store lacks or has
 * changed is removed from the ledger, so that it is stored again. Throws StoreFault, also if the store is empty
 * although something was stored there.
 */
export async function checkListing(
  { objects, address }: OpenStore,
  ledger: Ledger,
  cursor: string,
  { clock, signal }: Pick<StoreReading, 'clock' | 'signal'>,
): Promise<ListingCheck> {
  const entries: LedgerEntry[] = [];
  for await (const entry of ledger.list()) if (entry.files.length > 0) entries.push(entry);
  if (entries.length === 0)
    return { seen: new Set(), incomplete: [], damaged: [], older: [], unknown: [], cursor: '' };
  await checkReadme();
  const sizes = new Map<string, number>();
  const newest = new Map<string, StateRef>();
  let last = '';
  for await (const { key, sizeBytes } of objects.list(keysOf(), cursor)) {
    sizes.set(key, sizeBytes);
    last = key;
    const parsed = parseKey(key);
    if (parsed?.kind === 'state' && parsed.number >= (newest.get(parsed.archiveName)?.number ?? 0))
      newest.set(parsed.archiveName, { ...parsed, key });
    if (sizes.size >= MAX_LISTED) break;
  }
  const isEnd = sizes.size < MAX_LISTED;
  const isListed = (key: string) => key > cursor && (isEnd || key <= last);
  const damaged = await readSample();
  const seen = new Set<string>();
  const incomplete: string[] = [];
  const older: string[] = [];
  const unknown: string[] = [];
  for (const known of entries) {
    const entry = await overtake(known);
    const isThere = ({ key, stored_bytes }: { key: string; stored_bytes: number }) =>
      !damaged.includes(key) && (!isListed(key) || sizes.get(key) === stored_bytes);
    const files = entry.files.filter(isThere);
    const state = entry.state !== null && isThere(entry.state) ? entry.state : null;
    if (files.length === entry.files.length && state === entry.state) {
      if (entry !== known) await ledger.write(entry);
      if (state !== null && [state, ...files].every(({ key }) => isListed(key)))
        seen.add(entry.archive);
      continue;
    }
    incomplete.push(entry.archive);
    const found = entry.files.flatMap(({ key }) => (damaged.includes(key) ? [key] : []));
    await ledger.write({ ...entry, files, state: null, damaged: [...entry.damaged, ...found] });
  }
  return { seen, incomplete, damaged, older, unknown, cursor: isEnd ? '' : findCursor() };

  /**
   * Before the archive that the limit cut off, so that one listing shows all of it; inside it if it fills a whole
   * listing.
   */
  function findCursor(): string {
    const name = archiveNameOf(last);
    return name !== null && keysOf(name) > cursor ? keysOf(name) : last;
  }

  /**
   * A restore takes the state with the highest number, even one that this machine does not know. The next state gets a
   * number above it: at once if it is older than this machine's own, as after an attack or after a machine was rolled
   * back.
   */
  async function overtake(entry: LedgerEntry): Promise<LedgerEntry> {
    const ref = newest.get(entry.archive_name);
    if (ref === undefined || ref.number <= entry.last_number) return entry;
    const next = { ...entry, last_number: ref.number };
    if (entry.state === null || !(await isOlder(ref, entry))) return next;
    older.push(ref.key);
    return { ...next, state: null };
  }

  /**
   * Whether a state lacks this machine's newest version. An encrypted state cannot be read here, but it can be
   * recognized: nobody stores the bytes of an earlier state of this machine under a new number except to roll it back.
   */
  async function isOlder(ref: StateRef, entry: LedgerEntry): Promise<boolean> {
    const { files, own_states } = entry;
    try {
      if (ref.isEncrypted) {
        const sizeBytes = sizes.get(ref.key) ?? 0;
        // Larger than any state, encrypted or not.
        if (sizeBytes > 2 * MAX_STATE_BYTES) return true;
        const object = { key: ref.key, sizeBytes };
        const sha256 = await hashObject({ objects, clock, signal }, object);
        if (own_states.includes(sha256)) return true;
        unknown.push(ref.key);
        return false;
      }
      const state = await readState({ objects, clock, signal, identities: [] }, ref);
      return lastVersion(state.files) < lastVersion(files);
    } catch (error) {
      if (error instanceof ObjectFault) return true;
      throw error;
    }
  }

  /** Reads a few of the listed objects, and a state. Returns those that differ from what was stored. */
  async function readSample(): Promise<string[]> {
    // Whoever reads the log was told when these were found.
    const replaced = new Set(entries.flatMap((entry) => entry.replaced));
    const isSmall = (key: string) =>
      !replaced.has(key) && (sizes.get(key) ?? Number.POSITIVE_INFINITY) <= MAX_SAMPLE_BYTES;
    const known = [...sizes.keys()].flatMap((key) => {
      const parsed = isSmall(key) ? parseKey(key) : null;
      return parsed?.kind === 'object' ? [{ key, sha256: parsed.sha256 }] : [];
    });
    const states = entries.flatMap(({ state }) =>
      state !== null && state.stored_sha256 !== null && isSmall(state.key)
        ? [{ key: state.key, sha256: state.stored_sha256 }]
        : [],
    );
    const chosen = [...choose(known, SAMPLE), ...choose(states, 1)];
    const found: string[] = [];
    for (const { key, sha256 } of chosen) {
      if (!(await isWhole({ key, sizeBytes: sizes.get(key) ?? 0 }, sha256))) found.push(key);
    }
    return found;
  }

  async function isWhole(object: { key: string; sizeBytes: number }, sha256: string) {
    try {
      return (await hashObject({ objects, clock, signal }, object)) === sha256;
    } catch (error) {
      if (!(error instanceof ObjectFault)) throw error;
      // If it was removed since, the next listing shows that.
      return error.kind === 'missing';
    }
  }

  /** An unmounted disk, or a bucket of another account, looks like an empty store. */
  async function checkReadme(): Promise<void> {
    for await (const { key } of objects.list(README_KEY)) if (key === README_KEY) return;
    throw new StoreFault(
      'missing',
      `${address.text}: ${README_KEY} is missing, though archives were stored there: is it the right store? If it was emptied on purpose, delete the folder stores in DATA_DIR, and everything will be stored again`,
    );
  }
}

/** The highest version whose manifest is among the files; 0 without any. */
function lastVersion(files: readonly { name: string }[]): number {
  const numbers = files.map(({ name }) => Number(/\.versions\/(\d+)\.json$/.exec(name)?.[1] ?? 0));
  return numbers.reduce((one, other) => Math.max(one, other), 0);
}

/** Picks some at random, possibly the same one twice. */
function choose<Item>(items: readonly Item[], count: number): Item[] {
  const size = Math.min(count, items.length);
  return Array.from({ length: size }, () => items[randomInt(items.length)] as Item);
}
