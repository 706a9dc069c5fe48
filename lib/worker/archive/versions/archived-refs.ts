import { join } from 'node:path';
import { ArchiveFault } from '../../../archives/base/archive-fault.ts';
import { sourceName } from '../../../archives/base/manifest.ts';
import { nullIfMissing } from '../../../files.ts';
import { type Git, isGitFailure } from '../../../git/git.ts';
import { addBundle, hasObjects, type Mirror, readHeader } from '../../mirror/mirror.ts';
import { setKeptRefs } from '../../mirror/mirror-refs.ts';
import type { Refs } from '../../mirror/refs.ts';
import type { ArchiveOnDisk } from '../archive.ts';

/** The refs of an archive, according to the header of its last file. */
export interface ArchivedRefs {
  /** Refs of the newest version, by their names at the source, including HEAD. */
  refs: Refs;
  /** Refs that keep what the source has overwritten or deleted, by their names in the archive. */
  kept: Refs;
}

/** An archive that cannot be appended to because one of its files is missing or damaged. */
export class DamagedArchive extends Error {
  override readonly name = 'DamagedArchive';
}

/** Reads the refs of an archive. Throws DamagedArchive. */
export async function readArchivedRefs(
  folder: string,
  { files }: Pick<ArchiveOnDisk, 'files'>,
): Promise<ArchivedRefs> {
  const archived = { refs: new Map<string, string>(), kept: new Map<string, string>() };
  const last = files.at(-1);
  if (last === undefined) return archived;
  for (const { name, id } of (await readHeaderOf(folder, last.name)).refs) {
    const own = sourceName(name);
    if (own === null) archived.kept.set(name, id);
    else archived.refs.set(own, id);
  }
  return archived;
}

async function readHeaderOf(folder: string, name: string) {
  try {
    const header = await nullIfMissing(readHeader(join(folder, name)));
    if (header !== null) return header;
  } catch (error) {
    if (!(error instanceof ArchiveFault)) throw error;
    throw new DamagedArchive(`${name}: ${error.reason}`, { cause: error });
  }
  throw new DamagedArchive(`${name} is missing`);
}

/**
 * Ensures that the mirror has everything in the archive, and the same kept refs. Reads the archive only if something is
 * missing. Throws DamagedArchive.
 */
export async function bringArchive(
  git: Git,
  mirror: Mirror,
  folder: string,
  { files }: Pick<ArchiveOnDisk, 'files'>,
  { refs, kept }: ArchivedRefs,
): Promise<void> {
  // Without files, nothing says what the mirror may drop.
  if (files.length === 0) return;
  const tips = [...refs.values(), ...kept.values()];
  if (!(await hasObjects(git, mirror, tips))) {
    for (const { name } of files) await addFile(git, mirror, folder, name);
    if (!(await hasObjects(git, mirror, tips))) {
      throw new DamagedArchive(`${files.at(-1)?.name} does not contain all objects of its refs`);
    }
  }
  await setKeptRefs(git, mirror, kept);
}

async function addFile(git: Git, mirror: Mirror, folder: string, name: string): Promise<void> {
  try {
    const added = await nullIfMissing(addBundle(git, mirror, join(folder, name)).then(() => true));
    if (added === null) throw new DamagedArchive(`${name} is missing`);
  } catch (error) {
    if (!(error instanceof ArchiveFault || isGitFailure(error))) throw error;
    throw new DamagedArchive(`${name}: ${error.message}`, { cause: error });
  }
}
