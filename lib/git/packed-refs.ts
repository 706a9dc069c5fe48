import { createReadStream } from 'node:fs';
import { rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFile } from '../durable-files.ts';
import { nullIfMissing } from '../files.ts';
import { splitRecords } from '../text/split-records.ts';

/**
 * Replaces all refs of a repository that has no loose refs. Writes one file, as `git clone` does: a file for each of
 * 100,000 refs takes minutes. Names must be valid, and the objects must exist.
 */
export async function writePackedRefs(
  gitDir: string,
  refs: ReadonlyMap<string, string>,
): Promise<void> {
  const lines = [...refs].map(([name, id]) => ({
    name: Buffer.from(name),
    line: Buffer.from(`${id} ${name}\n`),
  }));
  // git looks names up with a binary search, in byte order.
  lines.sort((one, other) => one.name.compare(other.name));
  const text = [Buffer.from('# pack-refs with: sorted \n'), ...lines.map(({ line }) => line)];
  const path = join(gitDir, 'packed-refs');
  await writeFile(`${path}.new`, Buffer.concat(text));
  await syncFile(`${path}.new`);
  await rename(`${path}.new`, path);
}

/** Reads the packed refs: ids by name; empty if there is no such file. Throws RecordTooLong. */
export async function readPackedRefs(gitDir: string): Promise<Map<string, string>> {
  const refs = new Map<string, string>();
  const path = join(gitDir, 'packed-refs');
  if ((await nullIfMissing(stat(path))) === null) return refs;
  for await (const line of splitRecords(createReadStream(path, 'utf8'), '\n')) {
    // Skips comments, which start with `#`, and the objects that tags point to, which start with `^`.
    const [, id = '', name = ''] = /^([0-9a-f]+) (.+)$/s.exec(line) ?? [];
    if (name !== '') refs.set(name, id);
  }
  return refs;
}
