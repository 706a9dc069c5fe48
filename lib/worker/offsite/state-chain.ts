import { join } from 'node:path';
import { manifestFolder, manifestName, parseManifest } from '../../archives/base/manifest.ts';
import { readIfFile } from '../../files.ts';
import type { KeptArchive } from '../archive/archive.ts';
import type { LedgerEntry } from './ledger.ts';

/**
 * The chain with a new state. It starts over if other states came between, and if the archive is not the one of the
 * last state any more: after it was set aside, moved away or rolled back, only older states have its versions.
 */
export async function extendChain(
  archiveFolder: string,
  { chain }: Pick<LedgerEntry, 'chain'>,
  { key, record: { versions } }: KeptArchive,
  number: number,
): Promise<LedgerEntry['chain']> {
  const [oldest, newest] = [versions[0], versions.at(-1)];
  if (oldest === undefined || newest === undefined) return null;
  const next = { first: number, last: number, version: newest.manifest_sha256 };
  if (chain === null || chain.last !== number - 1) return next;
  const extended = { ...next, first: chain.first };
  if (versions.some(({ manifest_sha256 }) => manifest_sha256 === chain.version)) return extended;
  // It was pruned.
  const path = join(archiveFolder, manifestFolder(key), manifestName(oldest.version));
  const manifest = parseManifest((await readIfFile(path)) ?? '');
  return manifest?.previous_sha256 === chain.version ? extended : next;
}
