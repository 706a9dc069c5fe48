import { keysOf, parseKey } from '../base/layout.ts';
import type { ObjectStore } from '../base/object-store.ts';

/** A reference to a state of an archive that has not been read yet. */
export interface StateRef {
  /** The name of the archive in keys. */
  archiveName: string;
  number: number;
  key: string;
  isEncrypted: boolean;
}

/** The states of an archive, oldest first. */
export async function findStates(objects: ObjectStore, archiveName: string): Promise<StateRef[]> {
  const states: StateRef[] = [];
  for await (const { key } of objects.list(`${keysOf(archiveName)}states/`)) {
    const state = toState(key);
    if (state !== null) states.push(state);
  }
  return states.sort((one, other) => one.number - other.number);
}

/**
 * The newest state of each archive in a store, or of those whose keys begin with `prefix`. Lists the names of all these
 * objects, and holds one at a time.
 */
export async function* findNewestStates(
  objects: ObjectStore,
  prefix = keysOf(),
): AsyncGenerator<StateRef> {
  let newest: StateRef | null = null;
  for await (const { key } of objects.list(prefix)) {
    const state = toState(key);
    if (state === null) continue;
    if (newest !== null && newest.archiveName !== state.archiveName) {
      yield newest;
      newest = null;
    }
    if (newest === null || state.number >= newest.number) newest = state;
  }
  if (newest !== null) yield newest;
}

function toState(key: string): StateRef | null {
  const parsed = parseKey(key);
  if (parsed?.kind !== 'state') return null;
  const { archiveName, number, isEncrypted } = parsed;
  return { archiveName, number, key, isEncrypted };
}
