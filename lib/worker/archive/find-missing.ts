import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { manifestFolder, manifestName } from '../../archives/base/manifest.ts';
import { nullIfMissing } from '../../files.ts';
import type { MissingFile } from '../../records/recording/archive-looks.ts';
import { readArchiveState } from './archive.ts';

/**
 * Finds the first file that the newest version of an archive needs and that is missing or cut off; null if none is.
 * `there` are the names in the folder.
 */
export async function findMissing(
  folder: string,
  key: string,
  there: ReadonlySet<string>,
): Promise<MissingFile | null> {
  const bundleFault = (text: string) => ({ kind: 'bundle', text }) as const;
  const partFault = (text: string) => ({ kind: 'part', text }) as const;
  if (!there.has(key)) return bundleFault(`${key} is missing`);
  const { record, files, versions, obstacle } = await readArchiveState(folder, key);
  if (obstacle !== null) return bundleFault(`${basename(obstacle)} is not a file`);
  const [bundle, ...increments] = files;
  if (bundle === undefined) return bundleFault(`${key} is missing`);
  if (bundle.sizeBytes === 0) return bundleFault(`${key} is empty`);
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
  const newest = versions.at(-1);
  if (newest === undefined) return null;
  const manifest = join(manifestFolder(key), manifestName(newest.version));
  const found = await nullIfMissing(stat(join(folder, manifest)));
  if (found === null) return partFault(`${manifest} is missing`);
  return found.isFile() ? null : partFault(`${manifest} is not a file`);
}
