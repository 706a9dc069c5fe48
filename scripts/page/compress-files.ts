import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** Smaller files fit into a packet or two uncompressed. */
const MIN_BYTES = 1_024;

/** File extensions of the compressed copies that `compressFiles` writes. */
export const COMPRESSED_ENDINGS = ['.br', '.gz'];

/** Writes compressed copies of every script and stylesheet in a folder, for a server to send. */
export async function compressFiles(folder: string): Promise<void> {
  const names = (await readdir(folder)).filter((name) => /\.(?:js|css)$/.test(name));
  await Promise.all(names.map((name) => compressFile(join(folder, name))));
}

async function compressFile(path: string): Promise<void> {
  const content = await readFile(path);
  if (content.length < MIN_BYTES) return;
  // Higher levels take seconds and save only a few per cent.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  const [brotli, gzipped] = await Promise.all([
    promisify(brotliCompress)(content, { params }),
    promisify(gzip)(content),
  ]);
  await Promise.all([writeFile(`${path}.br`, brotli), writeFile(`${path}.gz`, gzipped)]);
}
