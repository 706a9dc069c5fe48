import pLimit from 'p-limit';
import { type Naming, plainNaming } from '../layout.ts';
import { findNewestStates, findStates, type StateRef } from './find-states.ts';
import { ObjectFault, withObject } from './object-fault.ts';
import { type ReadState, readState, type StateReading } from './read-state.ts';

const AT_ONCE = 6;
/** How many states are known before they are read, for stores that fetch many at once. */
const BATCH = 600;
/** How many states before a damaged one are tried. With the wrong identity, none of any archive can be read. */
const MAX_OLDER = 3;

/** The newest state of an archive, or why it cannot be read and the newest of those before it that can. */
export type FoundArchive = { ref: StateRef } & (
  | { state: ReadState; fault: null }
  | { state: null; fault: ObjectFault; older: ReadState | null }
);

/**
 * Reads the newest state of every archive of a store, in no particular order. Those of encrypted archives tell the
 * names. Throws StoreFault.
 */
export async function* readNewestStates(
  reading: StateReading,
  isWanted: (ref: StateRef) => boolean = () => true,
): AsyncGenerator<FoundArchive> {
  const limit = pLimit(AT_ONCE);
  const read = async (ref: StateRef): Promise<FoundArchive> => {
    try {
      const state = await withObject(ref.key, () => readState(reading, ref));
      return { ref, state, fault: null };
    } catch (error) {
      if (!(error instanceof ObjectFault)) throw error;
      return { ref, state: null, fault: error, older: await readOlder(reading, ref) };
    }
  };
  const { prepare } = reading.objects;
  const size = prepare === undefined ? AT_ONCE : BATCH;
  let batch: StateRef[] = [];
  for await (const ref of findNewestStates(reading.objects)) {
    if (!isWanted(ref)) continue;
    batch.push(ref);
    if (batch.length < size) continue;
    yield* readBatch(batch);
    batch = [];
  }
  yield* readBatch(batch);

  async function* readBatch(refs: readonly StateRef[]): AsyncGenerator<FoundArchive> {
    await prepare?.(refs.map(({ key }) => key));
    for (let at = 0; at < refs.length; at += AT_ONCE) {
      yield* await limit.map(refs.slice(at, at + AT_ONCE), read);
    }
  }
}

/** A state that still tells which archive it is, if its newest one is damaged. */
async function readOlder(reading: StateReading, newest: StateRef): Promise<ReadState | null> {
  if (newest.isEncrypted && reading.identities.length === 0) return null;
  const states = await findStates(reading.objects, newest.archiveName);
  const before = states.filter(({ number }) => number < newest.number).toReversed();
  for (const ref of before.slice(0, MAX_OLDER)) {
    try {
      return await withObject(ref.key, () => readState(reading, ref));
    } catch (error) {
      if (!(error instanceof ObjectFault)) throw error;
    }
  }
  return null;
}

/** Where the states of an archive are. */
export interface FoundStates {
  /** Of each archive of the store that holds it, oldest first. None if there is none. */
  archives: StateRef[][];
  /** Encrypted archives whose names could not be read. */
  unread: number;
}

/**
 * Finds the states of an archive by its file name. The key of the names leads to it at once; without it, or if it is
 * another one, every encrypted archive is asked for its name. Throws StoreFault.
 */
export async function findArchive(
  reading: StateReading,
  archive: string,
  secretNaming: Naming | null,
): Promise<FoundStates> {
  const { objects } = reading;
  const names = [
    plainNaming.archive(archive),
    ...(secretNaming ? [secretNaming.archive(archive)] : []),
  ];
  const archives: StateRef[][] = [];
  for (const name of names) {
    const states = await findStates(objects, name);
    if (states.length > 0) archives.push(states);
  }
  const isKnown = archives.some((states) => states[0]?.isEncrypted);
  if (isKnown || (archives.length > 0 && reading.identities.length === 0)) {
    return { archives, unread: 0 };
  }
  let unread = 0;
  for await (const found of readNewestStates(reading, ({ isEncrypted }) => isEncrypted)) {
    const state = found.state ?? found.older;
    if (state === null) unread++;
    else if (state.archive === archive) {
      archives.push(await findStates(objects, found.ref.archiveName));
    }
  }
  return { archives, unread };
}
