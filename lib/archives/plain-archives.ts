import { basename } from 'node:path';
import { AppError } from '../errors.ts';
import {
  type ArchiveAccessOptions,
  type ArchiveCall,
  createArchiveAccess,
} from './archive-access.ts';
import type { ArchiveCheck, ArchiveFacts, ArchivePage, ArchiveWork } from './archive-work.ts';
import { openRecorded } from './base/open-archive.ts';
import type { ZipRequest } from './bundle-contents.ts';
import type { TipChoice } from './chain/find-tip.ts';
import type { FileComparison } from './compare/compare-file.ts';
import type { Comparison } from './compare/compare-versions.ts';
import type { CompareRequest } from './compare/compared.ts';
import { checkFilePath } from './contents/file-content.ts';
import { streamFile } from './contents/file-stream.ts';
import type { ListRequest } from './contents/list-tree.ts';

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
    request: ListRequest & TipChoice,
    call: ArchiveCall,
  ): Promise<ArchivePage>;
  /** Reads one file of at most `extractedBytes`. */
  readFile(
    repository: string,
    path: string,
    tip: TipChoice,
    call: ArchiveCall,
  ): Promise<Uint8Array>;
  /** Compares two versions. */
  compare(
    repository: string,
    request: CompareRequest & { limit: number },
    call: ArchiveCall,
  ): Promise<Comparison>;
  /** Compares a file of two versions. */
  compareFile(
    repository: string,
    request: CompareRequest & { path: string },
    call: ArchiveCall,
  ): Promise<FileComparison>;
  /** Begins a zip of a folder. Either read or cancel `stream`. */
  zip(repository: string, request: ZipRequest, call: ArchiveCall): Promise<ZipDownload>;
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

/** A folder of an archive as a zip, which is written while it is read. */
export interface ZipDownload {
  /** Fails if not everything could be written. */
  stream: ReadableStream<Uint8Array>;
  /** Resolves when the zip was read to its end or canceled, or has failed. */
  ended: Promise<void>;
}

/** Opens the archives of a folder. */
export function createPlainArchives(options: ArchiveAccessOptions): PlainArchives {
  const { work, inTurn } = createArchiveAccess(options);
  return {
    // Not in turn: it only reads headers.
    describe: (repository, { signal }) => work.describe(repository, signal),
    check: (repository, call) => inTurn(call, () => work.check(repository, call.signal)),
    list: (repository, request, call) =>
      inTurn(call, () => work.list(repository, request, call.signal)),
    async readFile(repository, path, tip, call) {
      checkFilePath(path, 'path');
      const read = () => work.readFile(repository, path, tip, call.signal);
      return (await inTurn(call, read)).bytes;
    },
    compare: (repository, request, call) =>
      inTurn(call, () => work.compare(repository, request, call.signal)),
    async compareFile(repository, request, call) {
      checkFilePath(request.path, 'path');
      return inTurn(call, () => work.compareFile(repository, request, call.signal));
    },
    async zip(repository, request, call) {
      if (request.path !== '') checkFilePath(request.path, 'path');
      const open = () => work.openZip(repository, request, call.signal);
      return streamZip(work, (await inTurn(call, open)).zip);
    },
    async download(repository, wanted, call) {
      const { archive } = await openRecorded(options, repository, call.signal);
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

/** Streams a zip, each part when it is wanted. */
function streamZip(work: ArchiveWork, zip: number): ZipDownload {
  const ended = Promise.withResolvers<void>();
  // The stream says when it is no longer wanted.
  const { signal } = new AbortController();
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const part = await work.readZip(zip, signal);
          if (part !== null) return controller.enqueue(part);
          controller.close();
        } catch (error) {
          controller.error(error);
        }
        ended.resolve();
      },
      async cancel() {
        await work.closeZip(zip, signal).finally(ended.resolve);
      },
    },
    { highWaterMark: 0 },
  );
  return { stream, ended: ended.promise };
}
