import { basename, dirname, join } from 'node:path';
import {
  candidatesOf,
  continuedBy,
  isRepositoryName,
  isSameRepository,
  isSetAsideOf,
  nameBefore,
} from './archive-name.ts';
import { MAX_MANIFEST_BYTES, manifestFolder, manifestName, parseManifest } from './manifest.ts';
import { type ArchiveNote, MAX_NOTE_BYTES, type NotedFiles, noteName, parseNote } from './note.ts';

/** What is recorded about a repository's archive; empty if unknown. */
export interface RecordedArchive {
  archive_key: string;
  archive_sha256: string;
}

/** Looks up the record of `owner/name`; null if there is none. */
export type FindRecord = (repository: string) => Promise<RecordedArchive | null>;

/**
 * Whose an archive is: of a repository, or of one of several, because nothing says which. `continues`: the file is not
 * an archive but continues that one. Without candidates, nothing is known.
 */
export type Owner =
  | { repository: string; continues: string | null }
  | { candidates: readonly string[] };

/** What says whose an archive is. */
export interface OwnedArchive {
  /** Its path in the archive folder. */
  name: string;
  /** The folder of its manifests. */
  manifests: string;
  note: ArchiveNote | null;
  noted: NotedFiles | null;
  /** The text of another file in the archive folder; null if there is none, or if it is longer than `maxBytes`. */
  readBeside(name: string, maxBytes: number): Promise<string | null>;
  /** The names in a folder inside the archive folder, or in the archive folder itself; none if it is missing. */
  listBeside(folder: string): Promise<string[]>;
}

/** How many damaged manifests are read before the manifests say nothing. */
const MAX_DAMAGED = 3;

/**
 * Finds out whose an archive is. Its note says so, or its manifests, the note of the archive that it continues, the
 * address in its note, or the database. Only if all of them are silent, and only one repository's archive can have this
 * file name, is it that one's. `asked`: a repository to look up in the database, besides those.
 */
export async function findOwner(
  archive: OwnedArchive,
  findRecord: FindRecord,
  asked: string | null = null,
): Promise<Owner> {
  const { name, note } = archive;
  const owned = (repository: string) => ({ repository, continues: null });
  if (note?.repository && isRepositoryName(note.repository)) return owned(note.repository);
  const manifested = await readManifests(archive);
  if (manifested !== null) return owned(manifested);
  const continued = note === null ? await findContinued(archive, findRecord) : null;
  if (continued?.isListed) return continued.owner;
  const candidates = candidatesOf(nameBefore(basename(name)) ?? basename(name));
  const addressed = candidates.filter((one) => isOfAddress(one, note?.address ?? ''));
  if (addressed[0] !== undefined && addressed.length === 1) return owned(addressed[0]);
  const all = [...new Set([...candidates, ...namesIn(continued?.owner)])];
  const isAsked = (one: string) => asked !== null && isSameRepository(one, asked);
  const only = all.length === 1 ? (all[0] ?? null) : null;
  if (only !== null && (asked === null || isAsked(only))) return owned(only);
  const others = candidates.filter((one) => !isAsked(one));
  const recorded: string[] = [];
  for (const one of asked === null ? others : [asked, ...others]) {
    if ((await findRecord(one))?.archive_key === name) recorded.push(one);
  }
  if (recorded[0] !== undefined && recorded.length === 1) return owned(recorded[0]);
  return only === null ? { candidates: all } : owned(only);
}

function namesIn(owner: Owner | undefined): readonly string[] {
  if (owner === undefined) return [];
  return 'repository' in owner ? [owner.repository] : owner.candidates;
}

/** The repository in the newest readable manifest; null if there is none. */
async function readManifests(archive: OwnedArchive): Promise<string | null> {
  const { manifests, noted, readBeside } = archive;
  const listed = (noted?.versions ?? []).map(({ version }) => version);
  const versions = listed.length > 0 ? listed : await listManifests(archive);
  let damaged = 0;
  for (const version of versions.sort((one, other) => other - one)) {
    const text = await readBeside(join(manifests, manifestName(version)), MAX_MANIFEST_BYTES);
    if (text === null) continue;
    const repository = parseManifest(text)?.repository ?? '';
    if (isRepositoryName(repository)) return repository;
    damaged++;
    if (damaged === MAX_DAMAGED) return null;
  }
  return null;
}

async function listManifests({ manifests, listBeside }: OwnedArchive): Promise<number[]> {
  const names = await listBeside(manifests);
  return names.flatMap((name) => /^(\d{1,9})\.json$/.exec(name)?.[1] ?? []).map(Number);
}

/**
 * The owner of the archive that a file without a note continues, judging by its name, and whether that archive's note
 * lists it; null if there is no such archive.
 */
async function findContinued(
  archive: OwnedArchive,
  findRecord: FindRecord,
): Promise<{ owner: Owner; isListed: boolean } | null> {
  const { name, readBeside, listBeside } = archive;
  const base = continuedBy(basename(name));
  // A file with a note, even one that cannot be read, is an archive of its own.
  if (base === null || (await readBeside(noteName(name), MAX_NOTE_BYTES)) !== null) return null;
  const folder = dirname(name);
  let first: Owner | null = null;
  for (const file of await listBeside(folder)) {
    if (file !== base && !isSetAsideOf(file, base)) continue;
    const path = join(folder, file);
    const text = await readBeside(noteName(path), MAX_NOTE_BYTES);
    const note = text === null ? null : parseNote(text);
    const manifests = manifestFolder(join(folder, base));
    const owner = await findOwner(
      { ...archive, name: path, note, noted: null, manifests },
      findRecord,
    );
    const increments = [...(note?.increments ?? []), ...(note?.replacing?.increments ?? [])];
    if (increments.some((increment) => increment.name === basename(name))) {
      const continuing = 'repository' in owner ? { ...owner, continues: path } : owner;
      return { owner: continuing, isListed: true };
    }
    first ??= owner;
  }
  return first && { owner: first, isListed: false };
}

/** Whether a repository can have been read at an address. A second address of the same name gets `--<hash>`. */
function isOfAddress(repository: string, address: string): boolean {
  const path = decodePath(address)
    .toLowerCase()
    .replace(/\/+$/, '')
    .replace(/\/\.git$|\.git$/, '')
    // The user and the port.
    .replace(/^([a-z+]+:\/\/)?[^/@]*@/, '$1')
    .replace(/:\d+\//, '/');
  const parts = path.split(/[/\\:]+/);
  const [owner, name = ''] = repository.toLowerCase().split('/');
  const isNamed = [name, name.replace(/--[0-9a-f]{8}$/, '')].includes(parts.at(-1) ?? '');
  return isNamed && (owner === 'local' || owner === parts.at(-2));
}

function decodePath(address: string): string {
  try {
    return address.includes('://') ? decodeURIComponent(address) : address;
  } catch {
    return address;
  }
}
