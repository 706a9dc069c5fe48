import pLimit from 'p-limit';
import { joinNames } from '../../archives/base/archive-fault.ts';
import { archiveKey, candidatesOf, isSameRepository } from '../../archives/base/archive-name.ts';
import { shownSource } from '../../archives/base/note.ts';
import { cleanName } from '../../text/clean-text.ts';
import { keysOf, type Naming, plainNaming } from '../base/layout.ts';
import { findNewestStates, findStates, type StateRef } from './find-states.ts';
import { ObjectFault, withObject } from './object-fault.ts';
import { type ReadState, readOwner, readState, type StateReading } from './read-state.ts';

const AT_ONCE = 6;
/** How many states are announced before they are read, for stores that fetch many at once. */
const BATCH = 600;
/** How many states before a damaged one are tried. With the wrong identity, no state of any archive can be read. */
const MAX_OLDER = 3;
/** How many archives of other addresses an error names. */
const MAX_NAMED = 3;

/** The newest state of an archive, or its fault and the newest readable state before it. */
export type FoundInStore = { ref: StateRef } & (
  | { state: ReadState; fault: null }
  | { state: null; fault: ObjectFault; older: ReadState | null }
);

/**
 * Reads the newest state of every archive in a store, in no particular order. The states of encrypted archives reveal
 * their names. Throws StoreFault.
 */
export async function* readNewestStates(
  reading: StateReading,
  isWanted: (ref: StateRef) => boolean = () => true,
): AsyncGenerator<FoundInStore> {
  const limit = pLimit(AT_ONCE);
  const read = async (ref: StateRef): Promise<FoundInStore> => {
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

  async function* readBatch(refs: readonly StateRef[]): AsyncGenerator<FoundInStore> {
    await prepare?.(refs.map(({ key }) => key));
    for (let at = 0; at < refs.length; at += AT_ONCE) {
      yield* await limit.map(refs.slice(at, at + AT_ONCE), read);
    }
  }
}

/** Finds a state that still names its archive, if the newest one is damaged. */
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

/** The states of a repository's archives. */
export interface FoundStates {
  /** For each archive of the store that is the repository's, its states, oldest first. Empty if there is none. */
  archives: StateRef[][];
  /** The number of encrypted archives whose names could not be read. */
  unread: number;
  /** The repositories whose archives have the same file name. */
  others: string[];
  /** The archives of repositories that have this name with an addition, for another address. Only if none was found. */
  seconds: { repository: string; source: string | null }[];
}

/**
 * Finds the states of a repository's archives. The names key leads to them directly; without that key, or with a wrong
 * one, the name of every encrypted archive is read. Throws StoreFault.
 */
export async function findArchive(
  reading: StateReading,
  repository: string,
  secretNaming: Naming | null,
): Promise<FoundStates> {
  const { objects } = reading;
  const archive = archiveKey(repository);
  const names = [
    plainNaming.archive(archive),
    ...(secretNaming ? [secretNaming.archive(archive)] : []),
  ];
  const found: FoundStates = { archives: [], unread: 0, others: [], seconds: [] };
  const start = `${plainNaming.archive(archive)}--`;
  for (const name of names) {
    const states = await findStates(objects, name);
    if (states.length > 0) await add(states);
  }
  const { archives, others } = found;
  if (archives.length === 0) await addSeconds();
  const isKnown = archives.some((states) => states[0]?.isEncrypted);
  const isEnough = archives.length + others.length > 0 && reading.identities.length === 0;
  if (isKnown || isEnough) return found;
  for await (const one of readNewestStates(reading, ({ isEncrypted }) => isEncrypted)) {
    const state = one.state ?? one.older;
    if (state === null) found.unread++;
    else if (state.archive === archive) await add(await findStates(objects, one.ref.archiveName));
    else addSecond(state);
  }
  if (archives.length > 0) found.seconds = [];
  return found;

  /** Finds the archives of other addresses, among those whose names are not secret. */
  async function addSeconds(): Promise<void> {
    for await (const ref of findNewestStates(objects, `${keysOf()}${start}`)) {
      if (found.seconds.length === MAX_NAMED) return;
      if (ref.isEncrypted) continue;
      try {
        addSecond(await withObject(ref.key, () => readState(reading, ref)));
      } catch (error) {
        if (!(error instanceof ObjectFault)) throw error;
      }
    }
  }

  function addSecond({ archive: file, repository: name, parsedNote }: ReadState): void {
    const isSecond =
      file.startsWith(start) && /^[0-9a-f]{8}\.bundle$/.test(file.slice(start.length));
    if (!isSecond || found.seconds.length === MAX_NAMED) return;
    found.seconds.push({ repository: name, source: shownSource(parsedNote) });
  }

  /** Adds an archive, unless it is known to be another repository's. */
  async function add(states: StateRef[]): Promise<void> {
    const owner = candidatesOf(archive).length > 1 ? await readNewestOwner(reading, states) : null;
    if (owner === null || isSameRepository(owner, repository)) found.archives.push(states);
    else found.others.push(owner);
  }
}

/** Whose archive states are of, according to the newest that can be read; null if none can. */
async function readNewestOwner(
  reading: StateReading,
  states: readonly StateRef[],
): Promise<string | null> {
  const newest = states.at(-1);
  if (newest === undefined || (newest.isEncrypted && reading.identities.length === 0)) return null;
  try {
    return await readOwner(reading, await withObject(newest.key, () => readState(reading, newest)));
  } catch (error) {
    if (!(error instanceof ObjectFault)) throw error;
    const older = await readOlder(reading, newest);
    return older === null ? null : withObject(newest.key, () => readOwner(reading, older));
  }
}

/** Says which archives have the file name or the name of a repository, but are of others; empty if there are none. */
export function describeOthers({
  others,
  seconds,
}: Pick<FoundStates, 'others' | 'seconds'>): string {
  const named =
    others.length === 0
      ? []
      : [`the one with its file name is of ${joinNames([...new Set(others)])}`];
  for (const { repository, source } of seconds) {
    const from = source === null ? '' : `, which was read from ${source}`;
    named.push(`there is one of ${cleanName(repository)}${from}`);
  }
  return named.length === 0 ? '' : `: ${named.join('; ')}`;
}
