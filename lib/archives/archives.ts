import type { ExtractedFile, Listing, Verification } from './answers.ts';

/** What is recorded of a repository's archive; empty texts where nothing is. */
export interface RecordedArchive {
  archive_key: string;
  archive_sha256: string;
}

/**
 * Reads archives below one folder. Throws AppError: BAD_REQUEST for a name or path that is refused,
 * NOT_FOUND, PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE (no git, no time, no room), and CONFLICT for an archive
 * that is not whole, its message beginning with CHECKSUM_MISMATCH, CORRUPT_ARCHIVE or INCOMPLETE_HISTORY
 * (decisions 6).
 */
export interface ArchiveReader {
  /** Proves that an archive is whole (spec 3, Tool behaviour 6). */
  verify(repository: string, signal: AbortSignal): Promise<Verification>;
  /** Lists entries whose path begins with `prefix`; at most `limit` (spec 3, Tool behaviour 7). */
  inspect(
    repository: string,
    options: { prefix?: string | undefined; limit: number },
    signal: AbortSignal,
  ): Promise<Listing>;
  /** One file of at most 10 MiB (spec 3, Tool behaviour 8). */
  extract(repository: string, filePath: string, signal: AbortSignal): Promise<ExtractedFile>;
}
