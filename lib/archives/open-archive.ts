import { type FileHandle, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../errors.ts';
import { nullIfMissing } from '../files.ts';
import { NoArchive } from './archive-fault.ts';
import { type OpenFile, openInside, readInside } from './chain/open-inside.ts';
import {
  type ArchiveNote,
  describeFiles,
  MAX_NOTE_BYTES,
  type NotedFiles,
  noteName,
  parseNote,
} from './note.ts';
import type { ArchiveFormat, ResolvedBy } from './results.ts';
import { nameBefore, setAsideFile } from './set-aside.ts';

/** What is recorded about a repository's archive; empty if unknown. */
export interface RecordedArchive {
  archive_key: string;
  archive_sha256: string;
}

/** A bundle that continues an archive. */
interface OpenIncrement {
  /** Its path in the archive folder. */
  name: string;
  /** The SHA-256 and the size in the note. */
  sha256: string;
  sizeBytes: number;
  /** Null if it is missing. */
  file: OpenFile | null;
}

/** An open archive. Each file is read through one handle, so that it cannot be swapped. */
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
  /** What the note says about the files in place; null without a note, and for a tar.gz. */
  noted: NotedFiles | null;
  /** The bundles that continue it, in order. */
  increments: readonly OpenIncrement[];
  /** Reads the note again, in case a run has replaced the archive. */
  readNote(): Promise<ArchiveNote | null>;
  /** The text of another file in the archive folder; null if there is none, or if it is longer than `maxBytes`. */
  readBeside(name: string, maxBytes: number): Promise<string | null>;
  close(): Promise<void>;
}

interface Candidate {
  name: string;
  resolvedBy: ResolvedBy;
}

/** How often to reopen a chain that is being replaced. */
const MAX_ATTEMPTS = 3;

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
    const aside = setAsideFile(name);
    if (aside !== null) candidates.push({ name: aside, resolvedBy: 'canonical_name' });
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
async function openCandidate(root: string, { name, resolvedBy }: Candidate) {
  const format = formatOf(name);
  if (format === null || isAbsolute(name)) return null;
  const readBeside = (other: string, maxBytes: number) => readInside(root, other, maxBytes);
  const readNote = async () => {
    const text = await readBeside(noteName(name), MAX_NOTE_BYTES);
    return text === null ? null : parseNote(text);
  };
  for (let attempt = 1; ; attempt++) {
    // Read first, because the note is written before the archive is replaced, and describes both until then.
    const note = await readNote();
    const file = await openInside(root, name);
    if (file === null) return null;
    const archive = await openIncrements(root, { name, format, resolvedBy, ...file, note });
    const isWhole = archive.increments.every((increment) => increment.file !== null);
    if (isWhole || attempt === MAX_ATTEMPTS) return { ...archive, readNote, readBeside };
    await archive.close();
    // A run may have replaced the chain. If it did not, an increment is missing.
    if (isDeepStrictEqual(note, await readNote())) attempt = MAX_ATTEMPTS - 1;
  }
}

type OpenBase = Omit<OpenArchive, 'noted' | 'increments' | 'readNote' | 'readBeside' | 'close'>;

/** Opens the increments that the note lists, and closes everything if that fails. */
async function openIncrements(root: string, base: OpenBase) {
  const { name, handle, sizeBytes, modifiedAt, note, format } = base;
  const isChain = note !== null && format === 'bundle';
  const noted = isChain ? describeFiles(note, { sizeBytes, modifiedMs: modifiedAt }) : null;
  const increments: OpenIncrement[] = [];
  const close = async () => {
    const handles = increments.flatMap(({ file }) => file?.handle ?? []);
    await Promise.all([handle, ...handles].map((one) => one.close()));
  };
  try {
    for (const { name: fileName, sha256, size_bytes } of noted?.increments ?? []) {
      const path = join(dirname(name), fileName);
      const file = await openInside(root, path);
      increments.push({ name: path, sha256, sizeBytes: size_bytes, file });
    }
  } catch (error) {
    await close();
    throw error;
  }
  return { ...base, noted, increments, close };
}

function formatOf(name: string): ArchiveFormat | null {
  if (name.endsWith('.bundle') || nameBefore(name) !== null) return 'bundle';
  return name.toLowerCase().endsWith('.tar.gz') ? 'tar.gz' : null;
}
