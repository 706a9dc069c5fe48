import { keysOf } from '../../stores/base/layout.ts';
import { readStates, versionsOf } from '../../stores/reading/find-version.ts';
import { type ArchiveInStore, listContents } from '../../stores/reading/list-contents.ts';
import type { StoreReading } from '../../stores/reading/steady-read.ts';
import type { Ledger, LedgerEntry } from './ledger.ts';
import { findSuperseded, type KnownState } from './superseded.ts';

/** What can be dropped from a store without losing a version that is kept. */
export interface Unneeded {
  /** The sizes of what the remaining states need, by key. */
  needed: Map<string, number>;
  /** Keys that only superseded states need. */
  dropped: Set<string>;
  /** Archives of which more than the newest state is kept. */
  held: string[];
}

/**
 * Finds what can be dropped of the archives that this machine stores: states that a later one supersedes. After a
 * machine was lost, or an archive started over, the versions of before exist in older states alone. States that this
 * machine did not store itself are read; if one cannot be, nothing of its archive is dropped. Throws StoreFault.
 */
export async function findUnneeded(reading: StoreReading, ledger: Ledger): Promise<Unneeded> {
  const found: Unneeded = { needed: new Map(), dropped: new Set(), held: [] };
  for await (const entry of ledger.list()) {
    for await (const listed of listContents(reading.objects, entry.archive_name)) {
      if (!('archive' in listed)) continue;
      const isOneLeft =
        dropOwn(entry, listed.archive, found) ||
        (await dropRead(reading, entry, listed.archive, found));
      if (!isOneLeft) found.held.push(keysOf(entry.archive_name).slice(0, -1));
    }
  }
  return found;
}

/** If all states are of this machine's own unbroken chain, the last one has all that is kept. False if not. */
function dropOwn(
  entry: LedgerEntry,
  { states, objects }: ArchiveInStore,
  { needed, dropped }: Unneeded,
): boolean {
  const { state, files } = entry;
  const isWhole = states.every(
    ({ number }) => number === state?.number || isOvertaken(entry, number),
  );
  if (state === null || states.at(-1)?.key !== state.key || !isWhole) return false;
  for (const { key, stored_bytes } of [state, ...files]) needed.set(key, stored_bytes);
  for (const key of [...states.map((one) => one.key), ...objects.keys()]) {
    if (!needed.has(key)) dropped.add(key);
  }
  return true;
}

/** Whether a state is of this machine's own chain, and a later one of it exists. */
function isOvertaken({ state, chain }: LedgerEntry, number: number): boolean {
  if (state === null || chain?.last !== state.number) return false;
  return number >= chain.first && number < chain.last;
}

/**
 * Whether only the newest state is left; it may also be an upload without a state. Objects that no state names may
 * belong to an unfinished upload, and stay.
 */
async function dropRead(
  reading: StoreReading,
  entry: LedgerEntry,
  { states }: ArchiveInStore,
  { needed, dropped }: Unneeded,
): Promise<boolean> {
  // An encrypted state cannot be read here.
  if (states.some(({ isEncrypted }) => isEncrypted)) return false;
  const known: (KnownState & { keys: string[] })[] = [];
  const sizes = new Map<string, number>();
  // Holds each text in memory once, however many states contain it.
  const texts = new Map<string, string>();
  const once = (text: string) => texts.get(text) ?? texts.set(text, text).get(text) ?? text;
  let isWhole = true;
  await readStates({ ...reading, identities: [] }, states, {
    found(state) {
      const { archive_sha256 } = state.parsedNote;
      const versions = versionsOf(state).map(({ entry }) => entry?.manifest_sha256);
      for (const { key, stored_bytes } of state.files) sizes.set(once(key), stored_bytes);
      known.push({
        number: state.ref.number,
        versions: versions.map((version) => once(version ?? archive_sha256)),
        keys: state.files.map(({ key }) => once(key)),
      });
    },
    onFault() {
      isWhole = false;
    },
  });
  if (!isWhole) return false;
  const superseded = findSuperseded(known);
  // Of a chain with few kept versions, no two states may have one in common.
  if (states.some(({ key }) => key === entry.state?.key)) {
    for (const { number } of states) if (isOvertaken(entry, number)) superseded.add(number);
  }
  // Drops from the oldest state on, so that there are no gaps.
  const firstKept = states.findIndex(({ number }) => !superseded.has(number));
  const from = states[firstKept]?.number ?? 0;
  for (const { key, sizeBytes } of states.slice(firstKept)) needed.set(key, sizeBytes);
  for (const { key } of states.slice(0, firstKept)) dropped.add(key);
  for (const { number, keys } of known) {
    if (number >= from) for (const key of keys) needed.set(key, sizes.get(key) ?? 0);
  }
  for (const key of sizes.keys()) if (!needed.has(key)) dropped.add(key);
  return firstKept === states.length - 1;
}
