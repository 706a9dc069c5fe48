import { basename } from 'node:path';
import { AppError } from '../errors.ts';
import {
  type ArchiveAccessOptions,
  type ArchiveCall,
  createArchiveAccess,
} from './archive-access.ts';
import { ArchiveFault, type FaultKind } from './archive-fault.ts';
import { extractFromBundle, listBundle } from './bundle-contents.ts';
import { readChain } from './chain/read-chain.ts';
import { describeExamination, examineArchive, judgeIntact } from './examine-archive.ts';
import { checkFilePath } from './file-content.ts';
import { streamFile } from './file-stream.ts';
import type { OpenArchive } from './open-archive.ts';
import { readRecordedHash } from './recorded-hash.ts';
import type { ArchiveEntry, Verification } from './results.ts';
import { extractFromTarball, listTarball } from './tarball/tarball-contents.ts';
import { MAX_LISTED_REFS } from './verify-bundle.ts';

/** What is known about an archive without reading all of it. */
interface ArchiveFacts
  extends Pick<
    Verification,
    'repository' | 'archive' | 'format' | 'resolved_by' | 'archive_size_bytes'
  > {
  /** ISO 8601 in UTC. */
  modified_at: string;
  recorded_sha256: string | null;
  recorded_by: Verification['expected_by'];
  /** Its files in order; each continues the one before it. */
  files: ArchiveFile[];
  /** What the headers of its bundles say; null for a tar.gz, or if one cannot be read. */
  bundle: {
    object_format: string;
    objects: number;
    /** Whether it is complete by its headers: it needs no earlier bundle and leaves no objects out. */
    complete: boolean;
    ref_count: number;
    refs: { name: string; id: string }[];
  } | null;
  /** Why a header cannot be read. */
  fault: string | null;
}

/** A file of an archive. */
export interface ArchiveFile {
  name: string;
  size_bytes: number;
  /** The recorded SHA-256; null if none is recorded. */
  sha256: string | null;
}

/** The outcome of a whole check, even of a damaged archive. */
export interface ArchiveCheck
  extends Omit<Verification, 'truncated' | 'integrity_status' | 'remark' | 'incomplete'> {
  truncated: boolean;
  integrity_status: Verification['integrity_status'] | FaultKind;
  remark: string | null;
  /** What the repository has and the archive lacks; null if nothing is known. */
  incomplete: string | null;
  /** What is wrong with the archive, with the outcome of each check; null if it is intact. */
  fault: string | null;
}

/** Some entries of an archive. */
interface ArchivePage {
  repository: string;
  archive: string;
  format: Verification['format'];
  entries: ArchiveEntry[];
  truncated: boolean;
}

/**
 * Reads archives as they are, without removing secrets, for people who may see them. Throws as `ArchiveReader`
 * does.
 */
export interface PlainArchives {
  describe(repository: string, call: ArchiveCall): Promise<ArchiveFacts>;
  check(repository: string, call: ArchiveCall): Promise<ArchiveCheck>;
  /** Lists entries whose path starts with `prefix`. */
  list(
    repository: string,
    request: { prefix: string; offset: number; limit: number },
    call: ArchiveCall,
  ): Promise<ArchivePage>;
  /** Reads one file of at most 10 MiB. */
  readFile(repository: string, path: string, call: ArchiveCall): Promise<Buffer>;
  /**
   * Opens a file of the archive, by default the first. Either read or cancel `stream`, or call `close`. Throws
   * NOT_FOUND for a name that is not one of its files.
   */
  download(
    repository: string,
    fileName: string | undefined,
    call: ArchiveCall,
  ): Promise<ArchiveDownload>;
}

/** An archive that is sent unchanged. */
export interface ArchiveDownload {
  fileName: string;
  sizeBytes: number;
  stream(): ReadableStream<Uint8Array>;
  close(): Promise<void>;
}

/** Opens the archives of a folder. */
export function createPlainArchives(options: ArchiveAccessOptions): PlainArchives {
  const { findRecord, clock } = options;
  const access = createArchiveAccess(options);
  const { workspaces, kept, limits } = access;
  const checksOf = ({ signal }: ArchiveCall) => ({ workspaces, kept, limits, signal });

  return {
    async describe(repository, call) {
      const { archive, record } = await access.open(repository, call);
      try {
        const { expected, recordedBy } = readRecordedHash({ record, note: archive.note });
        return {
          repository,
          archive: archive.name,
          format: archive.format,
          resolved_by: archive.resolvedBy,
          archive_size_bytes: archive.sizeBytes,
          modified_at: new Date(archive.modifiedAt).toISOString(),
          recorded_sha256: expected,
          recorded_by: recordedBy,
          files: listFiles(archive, expected),
          ...(await describeHeaders(archive)),
        };
      } finally {
        await archive.close();
      }
    },
    check: (repository, call) =>
      access.use(repository, call, async (archive, record) => {
        const context = { repository, access, findRecord, call };
        const found = await examineArchive(archive, record, context);
        const { fault, proof, refs, refCount } = found;
        return {
          ...describeExamination(repository, found),
          truncated: refs.length < refCount,
          integrity_status: fault?.kind ?? judgeIntact(proof),
          remark: found.remark,
          incomplete: archive.note?.incomplete ?? null,
          fault: fault?.reason ?? null,
        };
      }),
    list: (repository, request, call) =>
      access.use(repository, call, async (archive) => {
        const { entries, truncated } =
          archive.format === 'bundle'
            ? await listBundle(archive, request, { ...checksOf(call), clock })
            : await listTarball(archive.handle, request, checksOf(call));
        return { repository, archive: archive.name, format: archive.format, entries, truncated };
      }),
    async readFile(repository, path, call) {
      checkFilePath(path, 'path');
      return access.use(repository, call, async (archive) => {
        const { bytes } =
          archive.format === 'bundle'
            ? await extractFromBundle(archive, path, checksOf(call))
            : await extractFromTarball(archive.handle, path, checksOf(call));
        return bytes;
      });
    },
    async download(repository, wanted, call) {
      const { archive } = await access.open(repository, call);
      const { name, handle, sizeBytes, increments } = archive;
      const files = [{ name, file: { handle, sizeBytes } }, ...increments];
      const found = files.find((one) => wanted === undefined || basename(one.name) === wanted);
      const file = found?.file;
      for (const other of files) if (other !== found) await other.file?.handle.close();
      if (!found || !file) throw new AppError('NOT_FOUND', 'the archive has no such file');
      return {
        fileName: basename(found.name),
        sizeBytes: file.sizeBytes,
        stream: () => streamFile(file.handle, file.sizeBytes),
        close: () => file.handle.close(),
      };
    },
  };
}

function listFiles(
  { name, sizeBytes, increments }: OpenArchive,
  sha256: string | null,
): ArchiveFile[] {
  return [
    { name: basename(name), size_bytes: sizeBytes, sha256 },
    ...increments.map((increment) => ({
      name: basename(increment.name),
      size_bytes: increment.sizeBytes,
      sha256: increment.sha256,
    })),
  ];
}

async function describeHeaders(
  archive: OpenArchive,
): Promise<Pick<ArchiveFacts, 'bundle' | 'fault'>> {
  if (archive.format !== 'bundle') return { bundle: null, fault: null };
  try {
    const { base, increments, objects, refs } = await readChain(archive);
    const isWhole = [base, ...increments].every(({ header }) => header.filter === null);
    const bundle = {
      object_format: base.header.objectFormat,
      objects,
      complete: base.header.prerequisites.length === 0 && isWhole,
      ref_count: refs.length,
      refs: refs.slice(0, MAX_LISTED_REFS),
    };
    return { bundle, fault: null };
  } catch (error) {
    if (!(error instanceof ArchiveFault)) throw error;
    return { bundle: null, fault: error.message };
  }
}
