import { createHash } from 'node:crypto';

/** The maximum length of each part of `owner/name` in bytes of UTF-8: what file systems allow in a name. */
const MAX_PART_BYTES = 255;
/** The maximum length of `owner/name`. */
export const MAX_REPOSITORY_LENGTH = 2 * MAX_PART_BYTES + 1;
/** The longest start of an archive's file name for which `<start>.bundle.json` is not longer than 255 bytes. */
const MAX_STEM_BYTES = 243;
/** The same for `<start>.bundle.damaged-<time>.json`. */
const MAX_SET_ASIDE_BYTES = 218;
const HASH_LENGTH = 16;
const SHORT_HASH_LENGTH = 8;
/** How many repositories a file name may be of. Longer rows of underscores are not worth looking into. */
const MAX_CANDIDATES = 20;

/** Whether a text can be one of the two parts of `owner/name`. */
export function isNamePart(text: string): boolean {
  return /^(?!\.{1,2}$)[^/\\\p{Cc}]+$/u.test(text) && Buffer.byteLength(text) <= MAX_PART_BYTES;
}

/** Whether a text is the name of a repository, `owner/name`. */
export function isRepositoryName(text: string): boolean {
  const parts = text.split('/', 3);
  return parts.length === 2 && parts.every(isNamePart);
}

/** Whether two names are of the same repository: letter case does not matter. */
export function isSameRepository(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

/** The start of a text that is not longer than `maxBytes`, without half a character. */
function cutBytes(text: string, maxBytes: number): string {
  // `stream` leaves out a character that is incomplete at the end.
  const start = Buffer.from(text).subarray(0, maxBytes);
  return new TextDecoder().decode(start, { stream: true });
}

/** A part of an address as a part of a name: without backslashes, and not longer than a part can be. */
export function toNamePart(text: string): string {
  const part = text.replaceAll('\\', '_');
  return isNamePart(part) ? part : addSuffix(part, hashText(text).slice(0, SHORT_HASH_LENGTH));
}

/** The name of another repository with the same name, `<name>--<suffix>`. */
export function addSuffix(name: string, suffix: string): string {
  const start = name.slice(0, name.lastIndexOf('/') + 1);
  const end = `--${suffix}`;
  return `${start}${cutBytes(name.slice(start.length), MAX_PART_BYTES - end.length)}${end}`;
}

function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A text, or its start and a hash of `whole` if it is longer than `maxBytes`. */
function shorten(text: string, maxBytes: number, whole = text): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const hash = hashText(whole).slice(0, HASH_LENGTH);
  return `${cutBytes(text, maxBytes - HASH_LENGTH - 2)}--${hash}`;
}

/**
 * The file name of a repository's archive, `<owner>__<name>.bundle` in lower case. A long one is shortened and ends
 * with a hash. Other repositories may have the same file name (`a__b/c` and `a/b__c`), so nothing reads a repository's
 * name from it: `findOwner` says whose an archive is.
 */
export function archiveKey(repository: string): string {
  const name = repository.toLowerCase();
  return `${shorten(name.replace('/', '__'), MAX_STEM_BYTES, name)}.bundle`;
}

/** A file name with a suffix, shortened if it would be too long. */
export function nextTo(file: string, suffix: string): string {
  return `${shorten(file, MAX_PART_BYTES - suffix.length)}${suffix}`;
}

/** The file name of a repository's tar.gz. */
export function tarballKey(repository: string): string {
  return `${repository.replace('/', '__')}.tar.gz`.toLowerCase();
}

/** The repositories that a file with this name may be an archive of. None for a shortened name or an old tar.gz. */
export function candidatesOf(file: string): string[] {
  const stem = file.replace(/\.(?:bundle|tar\.gz)$/i, '');
  const found: string[] = [];
  for (let at = stem.indexOf('__'); at >= 0; at = stem.indexOf('__', at + 1)) {
    const name = `${stem.slice(0, at)}/${stem.slice(at + 2)}`;
    const isOwn = archiveKey(name) === file || tarballKey(name) === file;
    if (isOwn && isRepositoryName(name)) found.push(name);
    if (found.length === MAX_CANDIDATES) break;
  }
  return found;
}

/** The file that an increment with this name would continue; null for another name. */
export function continuedBy(file: string): string | null {
  const [, stem] = /^(.+)\.\d+\.bundle$/.exec(file) ?? [];
  return stem === undefined ? null : `${stem}.bundle`;
}

/**
 * The file name of a damaged archive that makes room for a new one. Its increments and manifests keep their names,
 * which are not reused.
 */
export function setAsideName(archive: string, now: number): string {
  return setAsideFile(archive, new Date(now).toISOString().replace(/[-:]|\.\d+/g, ''));
}

function setAsideFile(archive: string, time: string): string {
  const stem = archive.replace(/\.bundle$/, '');
  return `${shorten(stem, MAX_SET_ASIDE_BYTES)}.bundle.damaged-${time}`;
}

/** The name that a file had before it was set aside, shortened if it was long; null if it was not set aside. */
export function nameBefore(file: string): string | null {
  return /^(.+\.bundle)\.damaged-\d{8}T\d{6}Z$/.exec(file)?.[1] ?? null;
}

/** Whether a file is that archive, set aside. */
export function isSetAsideOf(file: string, archive: string): boolean {
  const before = nameBefore(file);
  return before !== null && before === nameBefore(setAsideName(archive, 0));
}

/**
 * The name by which people refer to an archive of a repository that was set aside:
 * `owner/name@damaged-20260304T050607Z`.
 */
export function setAsideRepository(repository: string, file: string): string {
  return `${repository}@${file.slice(file.lastIndexOf('.') + 1)}`;
}

/** The repository and the file of such a name; null if the name is not of this kind. */
export function parseSetAside(name: string): { repository: string; file: string } | null {
  const [, repository, time] = /^(.+)@damaged-(\d{8}t\d{6}z)$/i.exec(name) ?? [];
  if (repository === undefined || time === undefined) return null;
  return { repository, file: setAsideFile(archiveKey(repository), time.toUpperCase()) };
}

/** Whether an archive of a repository is looked for under this file name. */
export function isFileOf(repository: string, file: string): boolean {
  const key = archiveKey(repository);
  return file === key || file === tarballKey(repository) || isSetAsideOf(file, key);
}
