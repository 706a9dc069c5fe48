import { type FileHandle, readdir, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { AppError } from '../../errors.ts';
import { nullIfMissing } from '../../files.ts';
import { cleanName } from '../../text/clean-text.ts';
import { NoArchive, UnknownOwner } from './archive-fault.ts';
import {
  archiveKey,
  isNamePart,
  isRepositoryName,
  isSameRepository,
  nameBefore,
  parseSetAside,
  tarballKey,
} from './archive-name.ts';
import {
  type FindRecord,
  findOwner,
  type OwnedArchive,
  type Owner,
  type RecordedArchive,
} from './archive-owner.ts';
import { manifestFolder } from './manifest.ts';
import {
  type ArchiveNote,
  describeFiles,
  MAX_NOTE_BYTES,
  type NotedFiles,
  noteName,
  parseNote,
  shownSource,
} from './note.ts';
import { listInside, type OpenFile, openInside, readInside } from './open-inside.ts';
import type { ArchiveFormat, ResolvedBy } from './results.ts';

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
export interface OpenArchive extends OwnedArchive {
  /** Whose it is, `owner/name`; null for an old tar.gz or a file of unknown origin. */
  repository: string | null;
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
  close(): Promise<void>;
}

interface Candidate {
  name: string;
  resolvedBy: ResolvedBy;
  /** The archive's file name before it was set aside; null if it was not. */
  before?: string;
}

/** How often to reopen a chain that is being replaced. */
const MAX_ATTEMPTS = 3;
/** How many archives of other addresses an error names. */
const MAX_NAMED = 3;

const noRecord: FindRecord = async () => null;

/**
 * Finds and opens a repository's archive. Throws BAD_REQUEST for an invalid name, NOT_FOUND if no candidate is a file
 * inside `root` and of this repository, CONFLICT if nothing says of which repository one is, SERVICE_UNAVAILABLE
 * without `root` or the right to read it.
 */
export async function openArchive(
  root: string,
  repository: string,
  recorded: RecordedArchive | null,
  findRecord: FindRecord = noRecord,
): Promise<OpenArchive> {
  const aside = parseSetAside(repository);
  if (!isNameOrPart(repository) && !(aside && isRepositoryName(aside.repository))) {
    throw new AppError('BAD_REQUEST', 'repo_name must be owner/name or a single name');
  }
  const find: FindRecord = async (name) =>
    recorded !== null && isSameRepository(name, repository) ? recorded : findRecord(name);
  return readable(() => findAndOpen(root, repository, recorded, find));
}

/** Opens an archive with its record. The caller closes it. */
export async function openRecorded(
  {
    root,
    findRecord,
  }: {
    root: string;
    findRecord(repository: string, signal: AbortSignal): Promise<RecordedArchive | null>;
  },
  repository: string,
  signal: AbortSignal,
): Promise<{ archive: OpenArchive; record: RecordedArchive | null }> {
  const record = await findRecord(repository, signal);
  const find = (name: string) => findRecord(name, signal);
  return { archive: await openArchive(root, repository, record, find), record };
}

/** A file of the archive folder, and whose it is. */
export interface FoundArchive {
  archive: OpenArchive;
  owner: Owner;
}

/**
 * Opens a file of the archive folder, and finds out whose archive it is. Null if it is not a file, or of an unknown
 * format. Throws SERVICE_UNAVAILABLE.
 */
export async function openFound(root: string, file: string): Promise<FoundArchive | null> {
  return readable(async () => {
    const before = nameBefore(file);
    const candidate = { name: file, resolvedBy: 'canonical_name' as const };
    const archive = await openCandidate(
      await findRoot(root),
      before === null ? candidate : { ...candidate, before },
    );
    if (archive === null) return null;
    try {
      const owner = await findOwner(archive, noRecord);
      return { archive: { ...archive, repository: nameOf(owner) }, owner };
    } catch (error) {
      await archive.close();
      throw error;
    }
  });
}

function nameOf(owner: Owner): string | null {
  return 'repository' in owner ? owner.repository : null;
}

function isNameOrPart(text: string): boolean {
  return isRepositoryName(text) || isNamePart(text);
}

async function readable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    const reason =
      'this server has no permission to read the archive or its folder (BACKUP_ARCHIVE_PATH)';
    throw new AppError('SERVICE_UNAVAILABLE', reason, { cause: error });
  }
}

async function findRoot(root: string): Promise<string> {
  const realRoot = await nullIfMissing(realpath(root));
  if (realRoot !== null && (await stat(realRoot)).isDirectory()) return realRoot;
  throw new AppError(
    'SERVICE_UNAVAILABLE',
    'there is no archive folder (BACKUP_ARCHIVE_PATH) here: is its disk mounted? If another machine has it, run the command or `npm run mcp` there',
  );
}

async function findAndOpen(
  root: string,
  repository: string,
  recorded: RecordedArchive | null,
  findRecord: FindRecord,
): Promise<OpenArchive> {
  const realRoot = await findRoot(root);
  const others: string[] = [];
  for (const candidate of listCandidates(repository, recorded)) {
    const archive = await openOwn(realRoot, candidate);
    if (archive !== null) return archive;
  }
  const legacy = await findLegacyName(realRoot, legacyName(repository));
  const last =
    legacy && (await openOwn(realRoot, { name: legacy, resolvedBy: 'legacy_name_any_case' }));
  if (last) return last;
  others.push(...(await findSecondAddresses(realRoot, repository)));
  throw new NoArchive(repository, others);

  /** Opens a candidate, unless it is another repository's archive. */
  async function openOwn(realRoot: string, candidate: Candidate): Promise<OpenArchive | null> {
    const archive = await openCandidate(realRoot, candidate);
    if (archive === null || !repository.includes('/')) return archive;
    const wanted = candidate.before === undefined ? repository : withoutTime(repository);
    try {
      const owner = await findOwner(archive, findRecord, wanted);
      if (!('repository' in owner)) {
        if (owner.candidates.length > 0) throw new UnknownOwner(archive.name, owner.candidates);
        // Its name was derived from that of the repository, or recorded for it.
        return { ...archive, repository: wanted };
      }
      const { repository: name, continues } = owner;
      if (isSameRepository(name, wanted) && continues === null) {
        return { ...archive, repository: name };
      }
      const what = continues === null ? 'is the archive' : 'is a part of the archive';
      others.push(`${archive.name} ${what} of ${cleanName(name)}`);
    } catch (error) {
      await archive.close();
      throw error;
    }
    await archive.close();
    return null;
  }
}

function withoutTime(repository: string): string {
  return parseSetAside(repository)?.repository ?? repository;
}

/** The archives of repositories that share the file name of this one, each with its source, as sentences. */
async function findSecondAddresses(root: string, repository: string): Promise<string[]> {
  const start = archiveKey(repository).replace(/\.bundle$/, '--');
  const found: string[] = [];
  for (const file of await readdir(root)) {
    if (!file.startsWith(start) || !/^[0-9a-f]{8}\.bundle$/.test(file.slice(start.length)))
      continue;
    const one = await openFound(root, file);
    if (one === null) continue;
    const { repository: name, note } = one.archive;
    await one.archive.close();
    const source = shownSource(note);
    const from = source === null ? '' : `, which was read from ${source}`;
    found.push(
      name === null
        ? `nothing says whose archive ${file} is`
        : `${file} is the archive of ${cleanName(name)}${from}`,
    );
    if (found.length === MAX_NAMED) break;
  }
  return found;
}

function listCandidates(repository: string, recorded: RecordedArchive | null): Candidate[] {
  const candidates: Candidate[] = [];
  const key = recorded?.archive_key ?? '';
  if (key !== '') candidates.push({ name: key, resolvedBy: 'worker_repo_state' });
  if (repository.includes('/')) {
    const names = [archiveKey(repository), tarballKey(repository)];
    for (const name of names) candidates.push({ name, resolvedBy: 'canonical_name' });
    const aside = parseSetAside(repository);
    if (aside !== null) {
      const before = archiveKey(aside.repository);
      candidates.push({ name: aside.file, resolvedBy: 'canonical_name', before });
    }
  }
  return [...candidates, { name: legacyName(repository), resolvedBy: 'legacy_name' }];
}

/** The file name of a tar.gz without an owner. */
function legacyName(repository: string): string {
  return `${repository.split('/').at(-1)}.tar.gz`;
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
async function openCandidate(
  root: string,
  { name, resolvedBy, before = name }: Candidate,
): Promise<OpenArchive | null> {
  const format = formatOf(name);
  if (format === null || isAbsolute(name)) return null;
  const readBeside = (other: string, maxBytes: number) => readInside(root, other, maxBytes);
  const listBeside = (folder: string) => listInside(root, folder);
  const manifests = manifestFolder(before);
  const readNote = async () => {
    const text = await readBeside(noteName(name), MAX_NOTE_BYTES);
    return text === null ? null : parseNote(text);
  };
  for (let attempt = 1; ; attempt++) {
    // Read first, because the note is written before the archive is replaced, and describes both until then.
    const note = await readNote();
    const file = await openInside(root, name);
    if (file === null) return null;
    const base = { name, manifests, format, resolvedBy, ...file, note };
    const archive = await openIncrements(root, base);
    const isWhole = archive.increments.every((increment) => increment.file !== null);
    if (isWhole || attempt === MAX_ATTEMPTS) {
      return { ...archive, repository: null, readNote, readBeside, listBeside };
    }
    await archive.close();
    // A run may have replaced the chain. If it did not, an increment is missing.
    if (isDeepStrictEqual(note, await readNote())) attempt = MAX_ATTEMPTS - 1;
  }
}

type OpenBase = Pick<
  OpenArchive,
  'name' | 'manifests' | 'format' | 'resolvedBy' | 'handle' | 'sizeBytes' | 'modifiedAt' | 'note'
>;

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
