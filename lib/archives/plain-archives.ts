import { basename } from 'node:path';
import { AppError } from '../errors.ts';
import {
  type ArchiveAccessOptions,
  type ArchiveCall,
  createArchiveAccess,
} from './archive-access.ts';
import type { ArchiveCheck, ArchiveFacts, ArchivePage } from './archive-work.ts';
import { openRecorded } from './base/open-archive.ts';
import { checkFilePath } from './contents/file-content.ts';
import { streamFile } from './contents/file-stream.ts';

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
  /** Reads one file of at most `extractedBytes`. */
  readFile(repository: string, path: string, call: ArchiveCall): Promise<Uint8Array>;
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
  const { work, inTurn } = createArchiveAccess(options);
  return {
    // Not in turn: it only reads headers.
    describe: (repository, { signal }) => work.describe(repository, signal),
    check: (repository, call) => inTurn(call, () => work.check(repository, call.signal)),
    list: (repository, request, call) =>
      inTurn(call, () => work.list(repository, request, call.signal)),
    async readFile(repository, path, call) {
      checkFilePath(path, 'path');
      const { bytes } = await inTurn(call, () => work.readFile(repository, path, call.signal));
      return bytes;
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
