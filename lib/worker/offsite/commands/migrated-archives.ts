import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { archiveKey } from '../../../archives/base/archive-name.ts';
import { manifestFolder, manifestName } from '../../../archives/base/manifest.ts';
import { openFound } from '../../../archives/base/open-archive.ts';
import { nullIfMissing } from '../../../files.ts';
import { archiveNameOf, type Naming, parseKey } from '../../../stores/base/layout.ts';
import { parsePart } from '../../../stores/git/parts.ts';
import {
  bundlesOf,
  findBadFile,
  type KeptArchive,
  readArchiveRecord,
} from '../../archive/archive.ts';

/** A local archive whose files are those that were recorded. */
export interface MigratedArchive {
  /** `owner/name`. */
  name: string;
  kept: KeptArchive;
}

/** Reads every archive of a folder, and describes the fault of each one that is skipped. */
export async function readArchives(
  folder: string,
  signal: AbortSignal,
): Promise<{ archives: MigratedArchive[]; faults: string[] }> {
  const archives: MigratedArchive[] = [];
  const faults: string[] = [];
  for (const note of (await nullIfMissing(readdir(folder)))?.sort() ?? []) {
    if (!note.endsWith('.bundle.json')) continue;
    signal.throwIfAborted();
    const key = note.slice(0, -'.json'.length);
    const record = await readArchiveRecord(folder, key);
    if (record === null) {
      faults.push(`${key} does not match its note: back it up first`);
      continue;
    }
    const name = await readName(folder, key);
    const fault =
      name === null
        ? `nothing says whose archive ${key} is: back it up first`
        : await findFault(folder, { key, record });
    if (name !== null && fault === null) archives.push({ name, kept: { key, record } });
    else if (fault !== null) faults.push(fault);
  }
  return { archives, faults };
}

async function findFault(folder: string, archive: KeptArchive): Promise<string | null> {
  const { key, record } = archive;
  const manifests = record.versions.map(({ version, manifest_sha256: sha256 }) => ({
    name: join(manifestFolder(key), manifestName(version)),
    sha256,
  }));
  const bad = await findBadFile(folder, [...bundlesOf(archive), ...manifests]);
  return bad && `${bad.name} is ${bad.isMissing ? 'missing' : 'damaged'}: not pushed`;
}

/** Whether the destination already has exactly these bundles of an archive at its root. */
export function isPublished(
  { kept: { key, record } }: MigratedArchive,
  files: ReadonlyMap<string, string>,
): boolean {
  return (
    record.archive_blob !== null &&
    files.get(key) === record.archive_blob &&
    record.increments.every(({ name, blob }) => blob !== undefined && files.get(name) === blob)
  );
}

/** The files at the root whose archives are not in parts. `sent` lists the file names of archives that will be. */
export function findFilesNotMigrated(
  roots: readonly string[],
  sent: ReadonlySet<string>,
  files: ReadonlyMap<string, string>,
  naming: Naming,
): string[] {
  const stored = new Set<string>();
  for (const path of files.keys()) {
    const part = parsePart(path);
    const name = part === null ? null : archiveNameOf(part.key);
    if (name !== null && parseKey(part?.key ?? '')?.kind === 'state') stored.add(name);
  }
  const isCovered = (bundle: string) => sent.has(bundle) || stored.has(naming.archive(bundle));
  return roots.filter((path) => {
    // It may be an increment.
    const full = path.replace(/\.\d+\.bundle$/, '.bundle');
    return !isCovered(path) && !(full !== path && roots.includes(full) && isCovered(full));
  });
}

/** Whose an archive is; null if nothing says it, or if its file has been renamed. */
async function readName(folder: string, key: string): Promise<string | null> {
  const found = await openFound(folder, key);
  await found?.archive.close();
  const name = found?.archive.repository ?? null;
  return name !== null && archiveKey(name) === key ? name : null;
}
