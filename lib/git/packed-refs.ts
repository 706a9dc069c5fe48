import { createReadStream } from 'node:fs';
import { rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFile } from '../durable-files.ts';
import { nullIfMissing } from '../files.ts';
import { splitRecords } from '../text/split-records.ts';

/**
 * Replaces all refs of a repository that has none in files of their own. One file, as `git clone` writes it: a file
 * for each of 100,000 refs takes minutes. Names must be those of refs, and ids those of objects that are there.
 */
export async function writePackedRefs(
  gitDir: string,
  refs: ReadonlyMap<string, string>,
): Promise<void> {
  const lines = [...refs].map(([name, id]) => ({
    name: Buffer.from(name),
    line: Buffer.from(`${id} ${name}\n`),
  }));
  // git looks names up by halves, in the order of their bytes.
  lines.sort((one, other) => one.name.compare(other.name));
  const text = [Buffer.from('# pack-refs with: sorted \n'), ...lines.map(({ line }) => line)];
  const path = join(gitDir, 'packed-refs');
  await writeFile(`${path}.new`, Buffer.concat(text));
  await syncFile(`${path}.new`);
  await rename(`${path}.new`, path);
}

/** The refs in that file, with their ids; none if there is no file. Throws RecordTooLong. */
export async function readPackedRefs(gitDir: string): Promise<Map<string, string>> {
  const refs = new Map<string, string>();
  const path = join(gitDir, 'packed-refs');
  if ((await nullIfMissing(stat(path))) === null) return refs;
  for await (const line of splitRecords(createReadStream(path, 'utf8'), '\n')) {
    // Comments begin with `#`, and what a tag points to with `^`.
    const [, id = '', name = ''] = /^([0-9a-f]+) (.+)$/s.exec(line) ?? [];
    if (name !== '') refs.set(name, id);
  }
  return refs;
}
