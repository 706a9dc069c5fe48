import { mismatch } from '../base/archive-fault.ts';
import { hashFile } from '../base/file-hash.ts';
import type { ChainFile } from './read-chain.ts';

/**
 * Hashes a file and does `work` with it at the same time. Throws
 * CHECKSUM_MISMATCH, before any fault that `work` finds, if the SHA-256 is not that of the note.
 */
export async function hashWhile(
  file: ChainFile,
  signal: AbortSignal,
  work: () => Promise<void>,
): Promise<void> {
  const [hashed, worked] = await Promise.allSettled([checkHash(file, signal), work()]);
  if (hashed.status === 'rejected') throw hashed.reason;
  if (worked.status === 'rejected') throw worked.reason;
}

/** Hashes a file. Throws CHECKSUM_MISMATCH if its SHA-256 is not that of the note. */
export async function checkHash(
  { handle, sizeBytes, sha256 }: ChainFile,
  signal: AbortSignal,
): Promise<void> {
  if (sha256 === null) return;
  const hash = await hashFile(handle, 'sha256', { start: 0, end: sizeBytes, signal });
  const found = hash.toString('hex');
  if (found !== sha256) throw mismatch(`its SHA-256 is ${found}, recorded is ${sha256}`);
}
