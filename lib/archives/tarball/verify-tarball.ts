import type { FileHandle } from 'node:fs/promises';
import type { ArchiveLimits } from '../limits.ts';
import { collectFindings, type Findings } from '../verify-bundle.ts';
import { readTarball } from './read-tarball.ts';

/** Checks every header of a tar.gz and, by the checksum of gzip, every byte. */
export function verifyTarball(
  handle: FileHandle,
  { limits, signal }: { limits: ArchiveLimits; signal: AbortSignal },
): Promise<Findings> {
  return collectFindings('not_applicable', async ({ proof }) => {
    await readTarball(handle, { limits, signal, visit: () => 'next' });
    proof.header = 'passed';
  });
}
