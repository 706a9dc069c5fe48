import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createRepository, type TestRepository } from './git.ts';

/** A repository whose archive is larger than the 100 MiB that git hosts accept in a file. */
export async function createBigRepository(path: string): Promise<TestRepository> {
  const big = await createRepository(path);
  await big.git('config', 'core.compression', '0');
  await big.git('config', 'core.bigFileThreshold', '1');
  // Piece by piece: starting a command takes longer the more memory a process has.
  await pipeline(noise(101), createWriteStream(join(path, 'big.bin')));
  await big.commit({});
  return big;
}

function* noise(mebibytes: number) {
  for (let written = 0; written < mebibytes; written++) yield randomBytes(2 ** 20);
}
