import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { manifestFolder, manifestName } from '../../archives/base/manifest.ts';
import { nullIfMissing } from '../../files.ts';
import { readArchiveState } from './archive.ts';

/** Says which file the newest version of an archive needs that is missing or cut off; null if none. */
export async function findMissing(
  folder: string,
  key: string,
  there: ReadonlySet<string>,
): Promise<string | null> {
  const { record, files, versions, obstacle } = await readArchiveState(folder, key);
  if (obstacle !== null) return `${basename(obstacle)} is not a file`;
  const [bundle, ...increments] = files;
  if (bundle === undefined) return `${key} is missing`;
  if (bundle.sizeBytes === 0) return `${key} is empty`;
  const sizes = [record?.archive_size_bytes, record?.replacing?.size_bytes ?? undefined];
  if (record !== null && !sizes.includes(bundle.sizeBytes)) return `${key} has another size`;
  for (const { name, sizeBytes } of increments) {
    if (!there.has(name)) return `${name} is missing`;
    const found = await nullIfMissing(stat(join(folder, name)));
    if (found !== null && !found.isFile()) return `${name} is not a file`;
    const size = found?.size;
    if (size !== sizeBytes) return `${name} has another size`;
  }
  const newest = versions.at(-1);
  if (newest === undefined) return null;
  const manifest = join(manifestFolder(key), manifestName(newest.version));
  const found = await nullIfMissing(stat(join(folder, manifest)));
  if (found === null) return `${manifest} is missing`;
  return found.isFile() ? null : `${manifest} is not a file`;
}
