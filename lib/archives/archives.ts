import type { Redactor } from '../security/redaction/redactor.ts';
import {
  type ArchiveAccessOptions,
  type ArchiveCall,
  createArchiveAccess,
} from './archive-access.ts';
import { extractFromBundle, listBundle } from './bundle-contents.ts';
import { describeExamination, examineArchive, judgeIntact } from './examine-archive.ts';
import { checkFilePath, showContent } from './file-content.ts';
import { checkRange, type FileRange, takeRange } from './file-range.ts';
import type { ExtractedFile, Listing, Verification } from './results.ts';
import { extractFromTarball, listTarball } from './tarball/tarball-contents.ts';

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
  /** Returns a range of one file of at most 10 MiB, as much as fits a response. */
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

/** Opens a reader for a folder, which removes secrets from what it shows. */
export function createArchiveReader(options: ArchiveReaderOptions): ArchiveReader {
  const { findRecord, clock, redactor } = options;
  const access = createArchiveAccess(options);
  const { workspaces, kept, limits } = access;

  return {
    verify: (repository, call) =>
      access.use(repository, call, async (archive, record) => {
        const context = { repository, access, findRecord, call };
        const examination = await examineArchive(archive, record, context);
        const { fault, proof, refs, refCount, remark } = examination;
        if (fault !== null) throw fault;
        return {
          ...describeExamination(repository, examination),
          ...(refs.length < refCount ? { truncated: true as const } : {}),
          integrity_status: judgeIntact(proof),
          ...(remark === null ? {} : { remark }),
          ...(archive.note?.incomplete ? { incomplete: archive.note.incomplete } : {}),
        };
      }),

    inspect: (repository, { prefix = '', limit }, call) =>
      access.use(repository, call, async (archive) => {
        const request = { prefix, limit };
        const checks = { workspaces, kept, limits, signal: call.signal };
        const { entries, truncated } =
          archive.format === 'bundle'
            ? await listBundle(archive, request, { ...checks, clock })
            : await listTarball(archive.handle, request, checks);
        const { name, format } = archive;
        const returned = entries.length;
        return { repository, archive: name, format, entries, returned, truncated };
      }),

    async extract(repository, filePath, range, call) {
      checkFilePath(filePath, 'file_path');
      checkRange(range);
      return access.use(repository, call, async (archive) => {
        const checks = { workspaces, kept, limits, signal: call.signal };
        const file =
          archive.format === 'bundle'
            ? await extractFromBundle(archive, filePath, checks)
            : await extractFromTarball(archive.handle, filePath, checks);
        const shown = await showContent(file, redactor);
        const { notes } = shown;
        const facts = { repository, archive: archive.name, path: file.path, ...notes };
        const maxChars = Math.min(
          call.maxChars ?? limits.answerCharacters,
          limits.answerCharacters,
        );
        return takeRange(facts, shown, range, maxChars);
      });
    },
  };
}
