import { counted } from '../../text/units.ts';
import { archiveNameOf, parseKey } from '../base/layout.ts';
import { indexObjects, type ObjectIndex, parsePart } from './parts.ts';
import type { RepositoryClone } from './repository-clone.ts';
import { type Changes, readFiles } from './tree.ts';

/** The files of a repository, with changes that are not pushed yet. */
export interface Pending {
  /** Reads the tip of the clone, and applies the changes to it. Throws GitError. */
  read(): Promise<void>;
  /** Ids by path, without the changes. */
  tip(): ReadonlyMap<string, string>;
  /** Ids by path, with the changes. */
  files(): ReadonlyMap<string, string>;
  /** The objects with the changes; new objects are added to this index. */
  objects(): ObjectIndex;
  add(path: string, id: string, bytes: number): void;
  remove(path: string): void;
  /** The size of the pending changes in bytes. */
  bytes(): number;
  /** Ids of blobs that were written for the changes. */
  written(): ReadonlySet<string>;
  /** The next commit. */
  next(): { changes: Changes; message: string };
  /** Rebases the changes onto a new tip, except those that conflict with it. Throws GitError. */
  rebase(): Promise<void>;
  /** To be called when the changes were pushed. */
  forget(): void;
  /** Drops the changes. */
  discard(): void;
  /** The keys of conflicting objects, and of states whose archives have lost objects. Each is returned once. */
  takeLost(): string[];
}

/** The files of a clone; empty until they are read. */
export function createPending(clone: RepositoryClone): Pending {
  const changes = new Map<string, string | null>();
  const written = new Set<string>();
  const lost = new Set<string>();
  let tip = new Map<string, string>();
  let files = new Map<string, string>();
  let objects = indexObjects(files);
  let bytes = 0;

  const apply = () => {
    files = new Map(tip);
    for (const [path, id] of changes) {
      if (id === null) files.delete(path);
      else files.set(path, id);
    }
    objects = indexObjects(files);
  };
  const read = async () => {
    tip = await readFiles(clone, clone.tip());
    apply();
  };
  const forget = () => {
    changes.clear();
    written.clear();
    bytes = 0;
  };
  /** Whether a change must still be made on a new tip. */
  const isWanted = (
    path: string,
    id: string | null,
    before: { tip: Map<string, string>; objects: ObjectIndex },
    theirs: ObjectIndex,
  ): boolean => {
    const there = tip.get(path);
    // An object that was replaced since then is not the one to remove.
    if (id === null) return there !== undefined && there === before.tip.get(path);
    const key = parsePart(path)?.key;
    if (key === undefined) return there === undefined || there === before.tip.get(path);
    const taken = theirs.get(key);
    if (taken === null && there === undefined) return true;
    const ours = before.objects.get(key);
    const isSame =
      taken === null
        ? there === id
        : taken.parts.every((part, at) => part.id === ours?.parts[at]?.id);
    if (!isSame) lost.add(key);
    return false;
  };

  return {
    read,
    tip: () => tip,
    files: () => files,
    objects: () => objects,
    add(path, id, size) {
      written.add(id);
      if (files.get(path) === id) return;
      files.set(path, id);
      changes.set(path, id);
      bytes += size;
    },
    remove(path) {
      if (!files.delete(path)) return;
      if (tip.has(path)) changes.set(path, null);
      else changes.delete(path);
    },
    bytes: () => bytes,
    written: () => written,
    next: () => ({ changes, message: describe(changes) }),
    async rebase() {
      const before = { tip, objects };
      const wanted = [...changes];
      tip = await readFiles(clone, clone.tip());
      const theirs = indexObjects(tip);
      const shrunk = findShrunk(indexObjects(before.tip), theirs);
      changes.clear();
      for (const [path, id] of wanted) {
        const parsed = parseKey(parsePart(path)?.key ?? '');
        // What the state needs may be gone.
        if (id !== null && parsed?.kind === 'state' && shrunk.has(parsed.archiveName))
          lost.add(parsePart(path)?.key ?? '');
        else if (isWanted(path, id, before, theirs)) changes.set(path, id);
      }
      apply();
    },
    forget,
    discard() {
      forget();
      lost.clear();
      apply();
    },
    takeLost() {
      const keys = [...lost];
      lost.clear();
      return keys;
    },
  };
}

/** The names of archives that have lost objects. */
function findShrunk(before: ObjectIndex, now: ObjectIndex): Set<string> {
  const gone = before.keys('', '').filter((key) => now.get(key) === null);
  return new Set(gone.flatMap((key) => archiveNameOf(key) ?? []));
}

/** Names no archives: names may be secret. */
function describe(changes: Changes): string {
  const archives = new Set<string>();
  let added = 0;
  for (const [path, id] of changes) {
    const key = parsePart(path)?.key;
    if (key !== undefined) archives.add(key.split('/', 2).join('/'));
    if (id !== null) added++;
  }
  return `${added > 0 ? 'Back up' : 'Prune'} ${counted(archives.size, 'archive')}`;
}
