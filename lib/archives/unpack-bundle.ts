import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../errors.ts';
import type { BundleHeader } from './bundle-header.ts';
import type { Workspace } from './git-workspace.ts';
import type { ArchiveLimits } from './limits.ts';
import type { OpenArchive } from './open-archive.ts';

/** An open bundle and its header. */
export interface Bundle {
  archive: OpenArchive;
  header: BundleHeader;
  limits: ArchiveLimits;
}

/** Why a bundle is too large to be unpacked; null if it is not. */
export function whyNotUnpacked({ archive, header, limits }: Bundle): string | null {
  const { unpackedBundleBytes: bytes, entries } = limits;
  if (archive.sizeBytes > bytes) return `it is larger than ${bytes / 2 ** 30} GiB`;
  return header.objects > entries ? `it has more than ${entries} objects` : null;
}

/**
 * Creates an empty repository for the bundle's objects in a workspace and returns its folder. Throws
 * GitError, and SERVICE_UNAVAILABLE without enough disk space.
 */
export async function makeRepository(
  { git, folder }: Workspace,
  { archive, header }: Bundle,
): Promise<string> {
  await checkRoom(folder, archive.sizeBytes);
  const gitDir = join(folder, 'scratch.git');
  const options = [`--object-format=${header.objectFormat}`, '--initial-branch=main'];
  await git.read(['init', '--quiet', '--bare', '--template=', ...options, '--', gitDir]);
  return gitDir;
}

/**
 * Stores the bundle's objects in `gitDir`, checking each of them and the pack's checksum. With `links`,
 * everything that an object refers to must be included, too. Throws GitError.
 */
export async function unpackBundle(
  { git }: Workspace,
  gitDir: string,
  { archive, header, limits }: Bundle,
  { links }: { links: boolean },
): Promise<void> {
  // Not `--strict`, which also rejects harmless oddities of old commits, such as strange time zones.
  const checks = links ? ['--check-self-contained-and-connected'] : [];
  const bound = `--max-input-size=${limits.unpackedBundleBytes}`;
  // git reads from the open file, starting at the pack.
  await skip(archive, header.length);
  await git.read([`--git-dir=${gitDir}`, 'index-pack', '--stdin', bound, ...checks], {
    stdin: { fd: archive.handle.fd },
  });
}

async function checkRoom(folder: string, sizeBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  // The pack and its index.
  if (bavail * bsize > sizeBytes * 1.2) return;
  throw new AppError(
    'SERVICE_UNAVAILABLE',
    'the folder for temporary files (TMPDIR) has too little space to unpack the bundle',
  );
}

/** Moves the handle's position, which a child process shares. */
async function skip({ handle }: OpenArchive, length: number): Promise<void> {
  const buffer = Buffer.allocUnsafe(Math.min(length, 2 ** 20));
  let left = length;
  while (left > 0) {
    const { bytesRead } = await handle.read(buffer, 0, Math.min(left, buffer.length), null);
    if (bytesRead === 0) throw new Error('the header is longer than the file');
    left -= bytesRead;
  }
}
