import type { Redactor } from '../security/redaction/redactor.ts';
import {
  type ArchiveAccessOptions,
  type ArchiveCall,
  createArchiveAccess,
} from './archive-access.ts';
import { extractFromBundle, listBundle } from './bundle-contents.ts';
import { describeExamination, examineArchive, judgeIntact } from './examine-archive.ts';
import { checkFilePath, type ShownContent, showContent } from './file-content.ts';
import { checkRange, type FileRange, takeRange } from './file-range.ts';
import { identifyArchive } from './kept-unpacked.ts';
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

/** How long the files that were last shown are kept, and how many: each may have 10 MiB. */
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
  const { findRecord, clock, redactor } = options;
  const access = createArchiveAccess(options);
  const { workspaces, kept, limits } = access;
  const showOnce = keepShown();

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
        const id = JSON.stringify([await identifyArchive(archive), filePath]);
        const shown = await showOnce(id, async () =>
          showContent(
            archive.format === 'bundle'
              ? await extractFromBundle(archive, filePath, checks)
              : await extractFromTarball(archive.handle, filePath, checks),
            redactor,
          ),
        );
        const facts = { repository, archive: archive.name, path: filePath, ...shown.notes };
        const maxChars = Math.min(
          call.maxChars ?? limits.answerCharacters,
          limits.answerCharacters,
        );
        return takeRange(facts, shown, range, maxChars);
      });
    },
  };
}
