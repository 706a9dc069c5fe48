import { archiveNameOf, parseKey } from '../base/layout.ts';

/** Hosts reject files above 100 MiB, so larger objects are split into parts. */
export const MAX_PART_BYTES = 95 * 2 ** 20;
const MAX_PARTS = 9_999;

/** A file in the repository that holds a part of an object. */
export interface ObjectPart {
  path: string;
  /** Its git blob id. */
  id: string;
  bytes: number;
}

/** An object with all its parts. */
interface GitObject {
  key: string;
  /** In order. */
  parts: readonly ObjectPart[];
  sizeBytes: number;
}

const partForm = /^(.+)\.part-(\d{4})-of-(\d{4})\.(\d{1,10})$/;

/**
 * The path of a part. It contains the size, which is unknown in a clone without files, and the number of parts, so that
 * an incomplete object is never taken for a complete one.
 */
export function partPath(key: string, number: number, count: number, bytes: number): string {
  const digits = (value: number) => String(value).padStart(4, '0');
  return `${key}.part-${digits(number)}-of-${digits(count)}.${bytes}`;
}

/** The sizes of a file's parts; null if there would be too many. */
export function partSizes(sizeBytes: number, maxBytes: number): number[] | null {
  const count = Math.max(1, Math.ceil(sizeBytes / maxBytes));
  if (count > MAX_PARTS) return null;
  return Array.from({ length: count }, (_, index) =>
    Math.min(maxBytes, sizeBytes - index * maxBytes),
  );
}

/** The part that a path names; null if the path is not ours. */
export function parsePart(
  path: string,
): { key: string; number: number; count: number; bytes: number } | null {
  const [, key = '', ...facts] = partForm.exec(path) ?? [];
  if (parseKey(key) === null) return null;
  const [number = 0, count = 0, bytes = 0] = facts.map(Number);
  return number < 1 || number > count ? null : { key, number, count, bytes };
}

/** Objects by key, organized by archive. */
export interface ObjectIndex {
  get(key: string): GitObject | null;
  put(object: GitObject): void;
  remove(key: string): void;
  /** Keys that begin with a prefix and sort after `after`, in order. */
  keys(prefix: string, after: string): string[];
}

/** The complete objects among files, which are given as ids by path. */
export function indexObjects(files: ReadonlyMap<string, string>): ObjectIndex {
  const archives = new Map<string, Map<string, GitObject>>();
  const bucketOf = (key: string) => archives.get(archiveNameOf(key) ?? '');
  const index: ObjectIndex = {
    get: (key) => bucketOf(key)?.get(key) ?? null,
    put(object) {
      const name = archiveNameOf(object.key) ?? '';
      const bucket = archives.get(name) ?? new Map<string, GitObject>();
      archives.set(name, bucket.set(object.key, object));
    },
    remove: (key) => void bucketOf(key)?.delete(key),
    keys(prefix, after) {
      const name = archiveNameOf(prefix);
      const buckets = name === null ? [...archives.values()] : [archives.get(name) ?? new Map()];
      const found: string[] = [];
      for (const bucket of buckets) {
        for (const key of bucket.keys()) if (key.startsWith(prefix) && key > after) found.push(key);
      }
      return found.sort();
    },
  };
  const begun = new Map<string, { count: number; parts: Map<number, ObjectPart> }>();
  for (const [path, id] of files) {
    const part = parsePart(path);
    if (part === null) continue;
    // Parts with another count belong to another file.
    const which = `${part.key} ${part.count}`;
    const { parts } = begun.get(which) ?? { parts: new Map<number, ObjectPart>() };
    begun.set(which, {
      count: part.count,
      parts: parts.set(part.number, { path, id, bytes: part.bytes }),
    });
  }
  for (const [which, { count, parts }] of begun) {
    const key = which.slice(0, which.lastIndexOf(' '));
    // Names can announce far more parts than exist.
    if (parts.size !== count) continue;
    const inOrder = [...parts].sort(([one], [other]) => one - other).map(([, part]) => part);
    index.put(objectOf(key, inOrder));
  }
  return index;
}

/** An object with its parts. */
export function objectOf(key: string, parts: readonly ObjectPart[]): GitObject {
  return { key, parts, sizeBytes: parts.reduce((sum, { bytes }) => sum + bytes, 0) };
}

/** How a destination keeps archives: as `files` at its root, or in `parts`; null if it has none. */
export function findLayout(paths: Iterable<string>): 'files' | 'parts' | null {
  let hasFiles = false;
  for (const path of paths) {
    if (parsePart(path) !== null) return 'parts';
    hasFiles ||= isRootArchive(path);
  }
  return hasFiles ? 'files' : null;
}

/** Whether a path is that of an archive in the layout `files`. */
export function isRootArchive(path: string): boolean {
  return /^[^/]+\.(?:bundle|tar\.gz)$/i.test(path);
}
