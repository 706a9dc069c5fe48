import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { noteName } from '../../archives/base/note.ts';
import { nullIfMissing } from '../../files.ts';
import type { ExpectedArchive, MissingFile } from '../../records/recording/archive-looks.ts';
import { readArchiveOnDisk } from './archive.ts';
import { findBadManifest, isOutdated } from './manifests.ts';

/**
 * Finds the first file of an archive that is missing, cut off, or not the one that was recorded, without reading the
 * archive; null if none is. `there` are the names in the folder.
 */
export async function findMissingFile(
  folder: string,
  { archiveKey: key, newest }: Pick<ExpectedArchive, 'archiveKey' | 'newest'>,
  there: ReadonlySet<string>,
): Promise<MissingFile | null> {
  const bundleFault = (text: string) => ({ kind: 'bundle', text }) as const;
  const partFault = (text: string) => ({ kind: 'part', text }) as const;
  if (!there.has(key)) return bundleFault(`${key} is missing`);
  const { record, files, versions, obstacle } = await readArchiveOnDisk(folder, key);
  if (obstacle !== null) return bundleFault(`${basename(obstacle)} is not a file`);
  const [bundle, ...increments] = files;
  if (bundle === undefined) return bundleFault(`${key} is missing`);
  if (bundle.sizeBytes === 0) return bundleFault(`${key} is empty`);
  const note = noteName(key);
  // An archive of an earlier release may have no note, and has no version.
  if (record === null && newest !== null) {
    return partFault(`${note} is ${there.has(note) ? 'not a valid note' : 'missing'}`);
  }
  if (newest !== null && isOutdated(versions, newest)) {
    const lacks = `which does not have version ${newest.version}`;
    return partFault(`${note} was replaced by another one, ${lacks}`);
  }
  const sizes = [record?.archive_size_bytes, record?.replacing?.size_bytes ?? undefined];
  if (record !== null && !sizes.includes(bundle.sizeBytes))
    return bundleFault(`${key} has another size`);
  for (const { name, sizeBytes } of increments) {
    if (!there.has(name)) return partFault(`${name} is missing`);
    const found = await nullIfMissing(stat(join(folder, name)));
    if (found !== null && !found.isFile()) return partFault(`${name} is not a file`);
    const size = found?.size;
    if (size !== sizeBytes) return partFault(`${name} has another size`);
  }
  const manifest = await findBadManifest(folder, key, versions);
  return manifest === null ? null : partFault(manifest);
}
