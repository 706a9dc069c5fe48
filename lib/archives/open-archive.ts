import { constants } from 'node:fs';
import { type FileHandle, open, readdir, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { AppError } from '../errors.ts';
import { nullIfMissing } from '../files.ts';
import { NoArchive } from './archive-fault.ts';
import { type ArchiveNote, MAX_NOTE_BYTES, noteName, parseNote } from './note.ts';
import type { ArchiveFormat, ResolvedBy } from './results.ts';

/** What is recorded about a repository's archive; empty if unknown. */
export interface RecordedArchive {
  archive_key: string;
  archive_sha256: string;
}

/** An open archive. Everything is read through one handle, so that the file cannot be swapped. */
export interface OpenArchive {
  /** Its path in the archive folder. */
  name: string;
  format: ArchiveFormat;
  resolvedBy: ResolvedBy;
  handle: FileHandle;
  sizeBytes: number;
  /** When the file was last written, in milliseconds since the epoch. */
  modifiedAt: number;
  /** Its note, read just before it was opened; null if there is none. */
  note: ArchiveNote | null;
  /** Reads the note again, in case a run has replaced the archive. */
  readNote(): Promise<ArchiveNote | null>;
}

interface Candidate {
  name: string;
  resolvedBy: ResolvedBy;
}

/** A single path segment that is safe in a file name. */
const part = /^(?!\.{1,2}$)[^/\\\p{Cc}]{1,200}$/u;

/**
 * Finds and opens a repository's archive. Throws BAD_REQUEST for an invalid name, NOT_FOUND if no candidate
 * is a file inside `root`, SERVICE_UNAVAILABLE without `root` or the right to read it.
 */
export async function openArchive(
  root: string,
  repository: string,
  recorded: RecordedArchive | null,
): Promise<OpenArchive> {
  const parts = repository.split('/');
  if (parts.length > 2 || !parts.every((name) => part.test(name))) {
    throw new AppError('BAD_REQUEST', 'repo_name must be owner/name or a single name');
  }
  try {
    return await findAndOpen(root, parts, recorded);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    const reason =
      'this server has no permission to read the archive or its folder (BACKUP_ARCHIVE_PATH)';
    throw new AppError('SERVICE_UNAVAILABLE', reason, { cause: error });
  }
}

async function findAndOpen(
  root: string,
  parts: string[],
  recorded: RecordedArchive | null,
): Promise<OpenArchive> {
  const realRoot = await nullIfMissing(realpath(root));
  if (realRoot === null || !(await stat(realRoot)).isDirectory()) {
    throw new AppError(
      'SERVICE_UNAVAILABLE',
      'there is no archive folder (BACKUP_ARCHIVE_PATH) here: run `npm run mcp` on the machine that has it',
    );
  }
  for (const candidate of listCandidates(parts, recorded)) {
    const archive = await openCandidate(realRoot, candidate);
    if (archive !== null) return archive;
  }
  const legacy = await findLegacyName(realRoot, `${parts.at(-1)}.tar.gz`);
  const archive =
    legacy && (await openCandidate(realRoot, { name: legacy, resolvedBy: 'legacy_name_any_case' }));
  if (archive) return archive;
  throw new NoArchive(parts.join('/'));
}

function listCandidates(parts: string[], recorded: RecordedArchive | null): Candidate[] {
  const candidates: Candidate[] = [];
  const key = recorded?.archive_key ?? '';
  if (key !== '') candidates.push({ name: key, resolvedBy: 'worker_repo_state' });
  if (parts.length === 2) {
    const name = parts.join('__').toLowerCase();
    candidates.push(
      { name: `${name}.bundle`, resolvedBy: 'canonical_name' },
      { name: `${name}.tar.gz`, resolvedBy: 'canonical_name' },
    );
  }
  return [...candidates, { name: `${parts.at(-1)}.tar.gz`, resolvedBy: 'legacy_name' }];
}

/** The one file with this name in any case. Throws CONFLICT if there are several. */
async function findLegacyName(root: string, name: string): Promise<string | null> {
  const names = (await readdir(root, { withFileTypes: true }))
    .filter((entry) => entry.isFile() || entry.isSymbolicLink())
    .map((entry) => entry.name)
    .filter((one) => one.toLowerCase() === name.toLowerCase());
  if (names.length > 1) {
    throw new AppError(
      'CONFLICT',
      `${names.length} archives are named ${name} in different letter case: use the exact name`,
    );
  }
  return names[0] ?? null;
}

/** Null if a candidate is missing, is not a file, is outside the root, or has an unknown format. */
async function openCandidate(root: string, candidate: Candidate): Promise<OpenArchive | null> {
  const { name, resolvedBy } = candidate;
  const format = formatOf(name);
  if (format === null || name.includes('\0') || isAbsolute(name)) return null;
  const readNote = () => readNoteOf(root, name);
  // First, because the note is written before the archive is replaced, and describes both until then.
  const note = await readNote();
  const file = await openFile(root, name);
  return file && { name, format, resolvedBy, ...file, note, readNote };
}

/** Opens a file inside the root; null if it is missing, is not a file, or is outside the root. */
async function openFile(
  root: string,
  name: string,
): Promise<Pick<OpenArchive, 'handle' | 'sizeBytes' | 'modifiedAt'> | null> {
  if (!isInside(root, resolve(root, name))) return null;
  const path = await findInside(root, join(root, name));
  if (path === null) return null;
  // O_NONBLOCK: do not wait for a writer if it is a pipe.
  const handle = await nullIfMissing(open(path, constants.O_RDONLY | constants.O_NONBLOCK));
  if (handle === null) return null;
  try {
    const opened = await handle.stat({ bigint: true });
    if (opened.isFile() && (await isStillInside(root, path, opened))) {
      return { handle, sizeBytes: Number(opened.size), modifiedAt: Number(opened.mtimeMs) };
    }
  } catch (error) {
    await handle.close();
    throw error;
  }
  await handle.close();
  return null;
}

/** The note of an archive; null if there is no valid one. */
async function readNoteOf(root: string, archive: string): Promise<ArchiveNote | null> {
  const file = await openFile(root, noteName(archive));
  if (file === null) return null;
  try {
    // Not by its size, which may change.
    const { buffer, bytesRead } = await file.handle.read(Buffer.alloc(MAX_NOTE_BYTES + 1));
    return bytesRead > MAX_NOTE_BYTES ? null : parseNote(buffer.toString('utf8', 0, bytesRead));
  } finally {
    await file.handle.close();
  }
}

/** Whether the path still leads to the open file, and no link was inserted after the first check. */
async function isStillInside(
  root: string,
  path: string,
  opened: { dev: bigint; ino: bigint },
): Promise<boolean> {
  const now = await findInside(root, path);
  const found = now === null ? null : await nullIfMissing(stat(now, { bigint: true }));
  return found !== null && found.dev === opened.dev && found.ino === opened.ino;
}

/** The path without links; null if it is missing or leads out of the root. */
async function findInside(root: string, path: string): Promise<string | null> {
  try {
    const real = await realpath(path);
    return isInside(root, real) ? real : null;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Circular links, a file in place of a folder, or an invalid name.
    if (['ENOENT', 'ELOOP', 'ENOTDIR', 'ENAMETOOLONG'].includes(code ?? '')) return null;
    throw error;
  }
}

function isInside(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function formatOf(name: string): ArchiveFormat | null {
  if (name.endsWith('.bundle')) return 'bundle';
  return name.toLowerCase().endsWith('.tar.gz') ? 'tar.gz' : null;
}
