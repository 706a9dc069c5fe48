import type { FileHandle } from 'node:fs/promises';
import type { ArchiveLimits } from '../base/limits.ts';
import type { ArchiveEntry } from '../base/results.ts';
import { type FileContent, NoSuchFile, notAFile, tooLarge } from '../contents/file-content.ts';
import type { ListRequest } from '../contents/list-tree.ts';
import { findNearPaths } from '../contents/near-paths.ts';
import { readTarball } from './read-tarball.ts';

interface Reading {
  limits: ArchiveLimits;
  signal: AbortSignal;
}

/** Lists the first `limit` entries under a prefix, after the offset. Throws what readTarball throws. */
export async function listTarball(
  handle: FileHandle,
  { prefix, offset = 0, limit }: ListRequest,
  reading: Reading,
): Promise<{ entries: ArchiveEntry[]; truncated: boolean }> {
  const entries: ArchiveEntry[] = [];
  let truncated = false;
  let characters = 0;
  let toSkip = offset;
  const wanted = withoutDot(prefix);
  await readTarball(handle, {
    ...reading,
    visit(entry) {
      if (!withoutDot(entry.path).startsWith(wanted) || toSkip-- > 0) return 'next';
      characters += JSON.stringify(entry).length + 1;
      truncated = entries.length === limit || characters > reading.limits.listedCharacters;
      if (truncated) return 'stop';
      entries.push(entry);
      return 'next';
    },
  });
  return { entries, truncated };
}

/**
 * Reads the last entry with a name, like unpacking would, so the whole archive is read. Throws NOT_FOUND,
 * BAD_REQUEST if it is not a file, PAYLOAD_TOO_LARGE, and what readTarball throws.
 */
export async function extractFromTarball(
  handle: FileHandle,
  path: string,
  reading: Reading,
): Promise<FileContent> {
  const max = reading.limits.extractedBytes;
  const wanted = withoutDot(path);
  const near = findNearPaths(wanted.replace(/\/$/, ''));
  let last: { entry: ArchiveEntry; chunks: Buffer[] } | null = null;
  await readTarball(handle, {
    ...reading,
    visit(entry) {
      const name = withoutDot(entry.path).replace(/\/$/, '');
      if (name !== wanted.replace(/\/$/, '')) {
        if (entry.type === 'file') near.add(name);
        return 'next';
      }
      const chunks: Buffer[] = [];
      last = { entry, chunks };
      if (entry.type !== 'file' || entry.size > max) return 'next';
      return { read: (chunk) => chunks.push(chunk) };
    },
  });
  if (last === null) throw new NoSuchFile(path, near.found());
  return open(last, path, max);
}

function open(
  { entry, chunks }: { entry: ArchiveEntry; chunks: Buffer[] },
  path: string,
  max: number,
): FileContent {
  if (entry.type !== 'file') throw notAFile(path, entry.type);
  if (entry.size > max) throw tooLarge(path, entry.size, max);
  return { path, bytes: Buffer.concat(chunks) };
}

/** `tar` writes `./a` for `a` if it archives the current folder. */
function withoutDot(path: string): string {
  return path.replace(/^(\.\/+)+/, '');
}
