import { join } from 'node:path';
import { skipBytes } from '../files.ts';
import { type ArchiveFault, corrupt, incomplete } from './base/archive-fault.ts';
import type { Workspace } from './base/git-workspace.ts';
import type { ArchiveLimits } from './base/limits.ts';
import type { Chain, ChainFile } from './chain/read-chain.ts';

/** Why bundles are too large to be unpacked; null if they are not. */
export function whyNotUnpacked(
  { sizeBytes, objects }: Pick<Chain, 'sizeBytes' | 'objects'>,
  { unpackedBundleBytes: bytes, entries }: ArchiveLimits,
): string | null {
  if (sizeBytes > bytes) return `it is larger than ${bytes / 2 ** 30} GiB`;
  return objects > entries ? `it has more than ${entries} objects` : null;
}

/** Creates an empty bare repository for the bundles' objects in a workspace, and returns its folder. Throws GitError. */
export async function makeRepository(
  { git, folder }: Workspace,
  { base }: Pick<Chain, 'base'>,
): Promise<string> {
  const gitDir = join(folder, 'scratch.git');
  const options = [`--object-format=${base.header.objectFormat}`, '--initial-branch=main'];
  await git.read(['init', '--quiet', '--bare', '--template=', ...options, '--', gitDir]);
  return gitDir;
}

/**
 * Stores a bundle's objects in `gitDir`, checking each of them and the pack's checksum. With `links`,
 * everything that an object refers to must be included, too. Throws GitError.
 */
export async function unpackBundle(
  { git }: Pick<Workspace, 'git'>,
  gitDir: string,
  { handle, header, sizeBytes }: ChainFile,
  { links }: { links: boolean },
): Promise<void> {
  // Not `--strict`, which also rejects harmless oddities of old commits, such as strange time zones.
  const checks = links ? ['--check-self-contained-and-connected'] : [];
  // It may have grown since it was opened.
  const bound = `--max-input-size=${sizeBytes}`;
  // git reads from the open file, starting at the pack.
  await skipBytes(handle, header.length);
  await git.read([`--git-dir=${gitDir}`, 'index-pack', '--stdin', bound, ...checks], {
    stdin: { fd: handle.fd },
  });
}

/** The fault of a bundle that git refused to unpack, from git's message. */
export function describeRejection(message: string): ArchiveFault {
  // A link to a missing object, or a delta against one.
  const missing = /did not receive expected object ([0-9a-f]+)/.exec(message);
  if (missing)
    return incomplete(`the bundle does not contain the object ${missing[1]}, which it needs`);
  if (/unresolved deltas?/.test(message)) {
    return incomplete('the bundle contains deltas against objects that it does not contain');
  }
  return corrupt(`git could not read the pack: ${message}`);
}
