import { keysOf, parseKey, README_KEY } from '../base/layout.ts';
import type { ObjectStore, StoredObject } from '../base/object-store.ts';
import type { StateRef } from './find-states.ts';

/** A state with its size. */
export interface ListedState extends StateRef, StoredObject {}

/** What a listing shows of an archive. */
export interface ArchiveInStore {
  name: string;
  /** Objects by key. */
  objects: Map<string, StoredObject>;
  /** In ascending order of their numbers. */
  states: ListedState[];
}

/** An archive, or a foreign key. */
export type Listed = { archive: ArchiveInStore } | { foreign: string };

/** Everything in a store except its README, or everything of one archive. Holds the names of one archive at a time. */
export async function* listContents(
  objects: ObjectStore,
  archiveName: string | null = null,
): AsyncGenerator<Listed> {
  let current: ArchiveInStore | null = null;
  for await (const found of objects.list(archiveName === null ? '' : keysOf(archiveName))) {
    const { key } = found;
    if (key === README_KEY) continue;
    const parsed = parseKey(key);
    if (parsed === null) {
      yield { foreign: key };
      continue;
    }
    if (current !== null && current.name !== parsed.archiveName) {
      yield { archive: current };
      current = null;
    }
    current ??= { name: parsed.archiveName, objects: new Map(), states: [] };
    if (parsed.kind === 'object') current.objects.set(key, found);
    else {
      const { archiveName: name, number, isEncrypted } = parsed;
      current.states.push({ ...found, archiveName: name, number, isEncrypted });
    }
  }
  if (current !== null) yield { archive: current };
}
