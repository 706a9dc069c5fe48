import type { FileHandle } from 'node:fs/promises';
import type { ArchiveEntry } from './answers.ts';
import { type FileContent, notAFile, notFound, tooLarge } from './file-content.ts';
import type { ArchiveLimits } from './limits.ts';
import { readTarball } from './tarball.ts';

interface Reading {
  limits: ArchiveLimits;
  signal: AbortSignal;
}

/** The first `limit` entries under a prefix, and whether there are more. Throws as readTarball does. */
export async function listTarball(
  handle: FileHandle,
  { prefix, limit }: { prefix: string; limit: number },
  reading: Reading,
): Promise<{ entries: ArchiveEntry[]; truncated: boolean }> {
  const entries: ArchiveEntry[] = [];
  let truncated = false;
  const wanted = withoutDot(prefix);
  await readTarball(handle, {
    ...reading,
    visit(entry) {
      if (!withoutDot(entry.path).startsWith(wanted)) return 'next';
      truncated = entries.length === limit;
      if (truncated) return 'stop';
      entries.push(entry);
      return 'next';
    },
  });
  return { entries, truncated };
}

/**
 * One file's content: the last of its name, as unpacking would leave it, so that the whole archive is
 * read. Throws NOT_FOUND, BAD_REQUEST for what is no file, PAYLOAD_TOO_LARGE, and as readTarball does.
 */
export async function extractFromTarball(
  handle: FileHandle,
  path: string,
  reading: Reading,
): Promise<FileContent> {
  const most = reading.limits.extractedBytes;
  const wanted = withoutDot(path);
  let last: { entry: ArchiveEntry; chunks: Buffer[] } | null = null;
  await readTarball(handle, {
    ...reading,
    visit(entry) {
      if (withoutDot(entry.path).replace(/\/$/, '') !== wanted.replace(/\/$/, '')) return 'next';
      const chunks: Buffer[] = [];
      last = { entry, chunks };
      if (entry.type !== 'file' || entry.size > most) return 'next';
      return { read: (chunk) => chunks.push(chunk) };
    },
  });
  return open(last, path, most);
}

function open(
  found: { entry: ArchiveEntry; chunks: Buffer[] } | null,
  path: string,
  most: number,
): FileContent {
  if (found === null) throw notFound(path);
  const { entry, chunks } = found;
  if (entry.type !== 'file') throw notAFile(path, entry.type);
  if (entry.size > most) throw tooLarge(path, entry.size, most);
  return { path, bytes: Buffer.concat(chunks) };
}

/** `tar` writes `./a` for `a` when it is told to archive the folder that it is in. */
function withoutDot(path: string): string {
  return path.replace(/^(\.\/+)+/, '');
}
