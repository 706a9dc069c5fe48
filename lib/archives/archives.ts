import type { Redactor } from '../security/redaction/redactor.ts';
import {
  type ArchiveAccessOptions,
  type ArchiveCall,
  createArchiveAccess,
} from './archive-access.ts';
import { ArchiveFault, type ArchiveFaultKind } from './base/archive-fault.ts';
import type { ExtractedFile, Listing, Verification } from './base/results.ts';
import { checkFilePath, type ShownContent, showContent } from './contents/file-content.ts';
import { checkRange, type FileRange, takeRange } from './contents/file-range.ts';

/** A call of the reader. */
interface ReaderCall extends ArchiveCall {
  /** Maximum length of a response with a file, as JSON, if less than the reader's limit. */
  maxChars?: number;
}

/**
 * Reads archives below one folder. Throws AppError: BAD_REQUEST for an invalid name or path, NOT_FOUND,
 * PAYLOAD_TOO_LARGE, SERVICE_UNAVAILABLE (no git, time or disk space), and CONFLICT for a damaged archive,
 * with a message that starts with CHECKSUM_MISMATCH, CORRUPT_ARCHIVE or INCOMPLETE_HISTORY.
 */
export interface ArchiveReader {
  /** Verifies that an archive is intact. */
  verify(repository: string, call: ReaderCall): Promise<Verification>;
  /** Lists at most `limit` entries whose path starts with `prefix`. */
  inspect(
    repository: string,
    options: { prefix?: string | undefined; limit: number },
    call: ReaderCall,
  ): Promise<Listing>;
  /** Returns a range of one file of at most `extractedBytes`, as much as fits a response. */
  extract(
    repository: string,
    filePath: string,
    range: FileRange,
    call: ReaderCall,
  ): Promise<ExtractedFile>;
}

export interface ArchiveReaderOptions extends ArchiveAccessOptions {
  /** Removes secrets from a whole file, before a range could split one. */
  redactor: Pick<Redactor, 'countedInSteps'>;
}

/** How long the files that were last shown are kept, and how many: each may have `extractedBytes`. */
const KEPT_MS = 10 * 60_000;
const MAX_KEPT = 2;

/**
 * Keeps the last files as they are shown: a large one is read in hundreds of parts, and secrets have to be removed from
 * all of it before one can be taken.
 */
function keepShown(): (id: string, show: () => Promise<ShownContent>) => Promise<ShownContent> {
  const kept = new Map<string, ShownContent>();
  let timer: NodeJS.Timeout | undefined;
  return async (id, show) => {
    const shown = kept.get(id) ?? (await show());
    // The most recently used last.
    kept.delete(id);
    kept.set(id, shown);
    for (const [oldest] of kept) if (kept.size > MAX_KEPT) kept.delete(oldest);
    clearTimeout(timer);
    timer = setTimeout(() => kept.clear(), KEPT_MS).unref();
    return shown;
  };
}

/** Opens a reader for a folder, which removes secrets from what it shows. */
export function createArchiveReader(options: ArchiveReaderOptions): ArchiveReader {
  const { redactor } = options;
  const { limits, work, inTurn } = createArchiveAccess(options);
  const showOnce = keepShown();

  return {
    async verify(repository, call) {
      const found = await inTurn(call, () => work.check(repository, call.signal));
      const { truncated, integrity_status, remark, incomplete, fault, ...facts } = found;
      if (fault !== null) throw new ArchiveFault(integrity_status as ArchiveFaultKind, fault);
      return {
        ...facts,
        ...(truncated ? { truncated } : {}),
        integrity_status: integrity_status as Verification['integrity_status'],
        ...(remark === null ? {} : { remark }),
        ...(incomplete ? { incomplete } : {}),
      };
    },

    async inspect(repository, { prefix = '', limit }, call) {
      const request = { prefix, limit };
      const page = await inTurn(call, () => work.list(repository, request, call.signal));
      const { entries, truncated, ...facts } = page;
      return { ...facts, entries, returned: entries.length, truncated };
    },

    async extract(repository, filePath, range, call) {
      checkFilePath(filePath, 'file_path');
      checkRange(range);
      const { signal } = call;
      return inTurn(call, async () => {
        const { archive, id } = await work.identify(repository, signal);
        const shown = await showOnce(JSON.stringify([id, filePath]), async () => {
          const { bytes } = await work.readFile(repository, filePath, {}, signal);
          return showContent({ path: filePath, bytes: asBuffer(bytes) }, redactor);
        });
        const facts = { repository, archive, path: filePath, ...shown.notes };
        const maxChars = Math.min(
          call.maxChars ?? limits.answerCharacters,
          limits.answerCharacters,
        );
        return takeRange(facts, shown, range, maxChars);
      });
    },
  };
}

/** The same bytes: what another process sent is no Buffer. */
function asBuffer({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
