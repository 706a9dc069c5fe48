import {
  archiveKey,
  candidatesOf,
  isRepositoryName,
  isSameRepository,
} from '../../archives/base/archive-name.ts';
import { findOwner, type OwnedArchive } from '../../archives/base/archive-owner.ts';
import { manifestFolder, manifestName } from '../../archives/base/manifest.ts';
import {
  type ArchiveNote,
  MAX_NOTE_BYTES,
  parseNote,
  type VersionEntry,
} from '../../archives/base/note.ts';
import { DecryptionFailed } from '../base/age-payload.ts';
import { parseKey, plainNaming } from '../base/layout.ts';
import {
  MAX_STATE_BYTES,
  parseState,
  type StateFile,
  type StoreState,
} from '../base/store-state.ts';
import type { StateRef } from './find-states.ts';
import { ObjectFault, undecrypted } from './object-fault.ts';
import { readSteadily, type StoreReading } from './steady-read.ts';

/** How many bytes age adds to an object for many recipients. */
const MAX_ADDED_BYTES = 2 ** 20;

/** What is needed to read states. */
export interface StateReading extends StoreReading {
  /** age identities (`AGE-SECRET-KEY-…`); empty to decrypt nothing. */
  identities: readonly string[];
}

/** A state that was read, including its archive's note. */
export interface ReadState extends StoreState {
  ref: StateRef;
  parsedNote: ArchiveNote;
}

/**
 * Reads a state, decrypts it, and checks that it belongs at its key and lists everything that its note names. Throws
 * ObjectFault if not, or StoreFault.
 */
export async function readState(reading: StateReading, ref: StateRef): Promise<ReadState> {
  const text = await readText(reading, ref, MAX_STATE_BYTES);
  const damaged = (reason: string) => new ObjectFault('damaged', ref.key, reason);
  const state = parseState(text);
  if (state === null) throw damaged('is not a state of an archive');
  // Names of encrypted archives are secret, so the caller checks that they match.
  if (!ref.isEncrypted && plainNaming.archive(state.archive) !== ref.archiveName) {
    throw damaged(`is a state of another archive (${state.archive})`);
  }
  for (const { key, sha256 } of state.files) {
    const parsed = parseKey(key);
    const isOwn =
      parsed?.kind === 'object' &&
      parsed.archiveName === ref.archiveName &&
      parsed.isEncrypted === ref.isEncrypted &&
      (parsed.isEncrypted || parsed.content === sha256);
    if (!isOwn) throw damaged(`names an object of another archive: ${key}`);
  }
  const parsedNote = state.note.length > MAX_NOTE_BYTES ? null : parseNote(state.note);
  if (parsedNote === null) throw damaged('has no readable note');
  const { repository, archive } = state;
  const names = [repository, parsedNote.repository ?? repository];
  const isNamed = names.every((one) => isRepositoryName(one) && isSameRepository(one, repository));
  if (!isNamed || archiveKey(repository) !== archive) {
    throw damaged(`is of ${archive}, which is not the archive of ${names.join(' or ')}`);
  }
  const read = { ...state, ref, parsedNote };
  if (!/^[^/]+\.bundle$/.test(state.archive)) throw damaged('does not belong to a git bundle');
  const byName = new Map(state.files.map((file) => [file.name, file]));
  for (const { name, sha256 } of namesOf(read)) {
    if (byName.get(name)?.sha256 !== sha256)
      throw damaged(`does not list ${name} as its note does`);
  }
  return read;
}

/** The files of an archive that a version needs; null for the only version of an archive from an earlier release. */
export function filesOf(state: ReadState, version: VersionEntry | null): StateFile[] {
  const { archive, files } = state;
  const increments = state.parsedNote.increments.slice(0, (version?.files ?? 1) - 1);
  const names = [archive, ...increments.map(({ name }) => name)];
  if (version !== null) names.push(manifestPath(archive, version));
  return names.flatMap((name) => files.find((file) => file.name === name) ?? []);
}

/**
 * Whose archive a state is of. Its `repository` is one of those whose archive has this file name, but earlier releases
 * could name the wrong one of several; the note or a manifest says which. Throws ObjectFault or StoreFault.
 */
export async function readOwner(reading: StateReading, state: ReadState): Promise<string> {
  const { archive, parsedNote: note, repository, ref, files } = state;
  if (candidatesOf(archive).length < 2) return repository;
  const owned: OwnedArchive = {
    name: archive,
    manifests: manifestFolder(archive),
    note,
    noted: { ...note, sha256: note.archive_sha256, isReplaced: false },
    async readBeside(name, maxBytes) {
      const file = files.find((one) => one.name === name);
      if (file === undefined) return null;
      try {
        return await readText(reading, { ...ref, key: file.key }, maxBytes);
      } catch (error) {
        // Another manifest may be readable.
        if (error instanceof ObjectFault) return null;
        throw error;
      }
    },
    listBeside: async () => [],
  };
  const findRecord = async (one: string) =>
    isSameRepository(one, repository) ? { archive_key: archive, archive_sha256: '' } : null;
  const owner = await findOwner(owned, findRecord);
  return 'repository' in owner ? owner.repository : repository;
}

/** The files that the note names, with their SHA-256. */
function namesOf({ archive, parsedNote: note }: ReadState): { name: string; sha256: string }[] {
  return [
    { name: archive, sha256: note.archive_sha256 },
    ...note.increments,
    ...note.versions.map((version) => ({
      name: manifestPath(archive, version),
      sha256: version.manifest_sha256,
    })),
  ];
}

function manifestPath(archive: string, { version }: VersionEntry): string {
  return `${manifestFolder(archive)}/${manifestName(version)}`;
}

/** The text of an object of at most `maxBytes`, decrypted. Throws ObjectFault or StoreFault. */
async function readText(
  reading: StateReading,
  { key, isEncrypted }: Pick<StateRef, 'key' | 'isEncrypted'>,
  maxBytes: number,
): Promise<string> {
  const { identities } = reading;
  if (isEncrypted && identities.length === 0) {
    throw new ObjectFault('locked', key, 'is encrypted: give the file of an age identity');
  }
  const stored = readSteadily(reading, key);
  if (!isEncrypted) return collect(stored, key, maxBytes);
  const { decrypt } = await import('../base/age-file.ts');
  try {
    return await collect(
      decrypt(bounded(stored, key, maxBytes + MAX_ADDED_BYTES), identities),
      key,
      maxBytes,
    );
  } catch (cause) {
    if (!(cause instanceof DecryptionFailed)) throw cause;
    throw undecrypted(key, cause);
  }
}

async function collect(
  bytes: AsyncIterable<Uint8Array>,
  key: string,
  maxBytes: number,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of bounded(bytes, key, maxBytes)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

async function* bounded(
  bytes: AsyncIterable<Uint8Array>,
  key: string,
  maxBytes: number,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > maxBytes)
      throw new ObjectFault('damaged', key, `is longer than the ${maxBytes} bytes it can have`);
    yield chunk;
  }
}
