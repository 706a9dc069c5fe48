import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { extract, type Header } from 'tar-stream';
import { ArchiveFault, corrupt } from '../base/archive-fault.ts';
import type { ArchiveLimits } from '../base/limits.ts';
import type { ArchiveEntry, EntryType } from '../base/results.ts';

/** What to do with an entry: skip its content, read it, or stop. */
export type VisitEntry = 'next' | 'stop' | { read(chunk: Buffer): void };

interface TarballReading {
  limits: ArchiveLimits;
  signal: AbortSignal;
  /** Called for every entry in order. Nothing is ever written or followed. */
  visit(entry: ArchiveEntry): VisitEntry;
}

const BLOCK_BYTES = 512;
/** No file system supports longer paths. */
const MAX_NAME_LENGTH = 4_096;
const READ_BYTES = 2 ** 20;
const INFLATE_BYTES = 2 ** 18;
/** Also accepts tars without a magic number, which have header checksums too. Missing in tar-stream's types. */
const anyFormat = { allowUnknownFormat: true } as Parameters<typeof extract>[0];

/**
 * Reads every header and byte of a tar.gz until a visit stops it. Throws ArchiveFault if it is damaged,
 * truncated, followed by other data, or exceeds the limits.
 */
export async function readTarball(handle: FileHandle, reading: TarballReading): Promise<void> {
  const { limits, signal, visit } = reading;
  const stopped = new AbortController();
  const ending = followEnd(limits.inflatedBytes);
  const tar = extract(anyFormat);
  const gunzip = createGunzip({ chunkSize: INFLATE_BYTES });
  let entries = 0;
  let unknownEntry: string | null = null;
  tar.on('entry', (header, stream, next) => {
    entries++;
    // The pipeline fails with the same error.
    stream.on('error', () => undefined);
    const fault = findFault(header, entries, limits);
    if (fault) return next(fault);
    const entry = describeEntry(header);
    ending.expectAfter(header, entry);
    if (entry.type === 'unknown') unknownEntry = entry.path;
    const visited = visit(entry);
    if (visited === 'stop') return stopped.abort();
    stream.on('end', next);
    if (visited === 'next') stream.resume();
    else stream.on('data', (chunk) => visited.read(chunk as Buffer));
  });
  try {
    await pipeline(
      handle.createReadStream({ start: 0, autoClose: false, highWaterMark: READ_BYTES }),
      gunzip,
      ending.follow,
      tar,
      { signal: AbortSignal.any([signal, stopped.signal]) },
    );
  } catch (error) {
    signal.throwIfAborted();
    if (stopped.signal.aborted) return;
    throw explain(error, unknownEntry);
  }
  ending.check();
  await checkAfterGzip(handle, gunzip.bytesWritten, signal);
}

/** Only zeros may follow, as padding. zlib does not read past the first of them. */
async function checkAfterGzip(handle: FileHandle, end: number, signal: AbortSignal): Promise<void> {
  const buffer = Buffer.allocUnsafe(READ_BYTES);
  for (let position = end; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) return;
    if (countZerosAtEnd(buffer.subarray(0, bytesRead)) < bytesRead) {
      throw corrupt('other data follows the gzip stream');
    }
    position += bytesRead;
  }
}

/** Counts inflated bytes and checks the end: a tar ends with at least two blocks of zeros. */
function followEnd(maxBytes: number) {
  let total = 0;
  let zerosAtEnd = 0;
  let lastEntryEnd = 0;
  return {
    async *follow(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        total += chunk.length;
        if (total > maxBytes) {
          throw corrupt(`it inflates to more than ${maxBytes} bytes and was not read further`);
        }
        const zeros = countZerosAtEnd(chunk);
        zerosAtEnd = zeros === chunk.length ? zerosAtEnd + zeros : zeros;
        yield chunk;
      }
    },
    expectAfter(header: Header, { type, size }: ArchiveEntry) {
      // Where the content starts. Missing in tar-stream's types.
      const { byteOffset } = header as Header & { byteOffset: number };
      const blocks = type === 'directory' ? 0 : Math.ceil(size / BLOCK_BYTES);
      lastEntryEnd = byteOffset + blocks * BLOCK_BYTES;
    },
    check() {
      const after = total - lastEntryEnd;
      if (after < 2 * BLOCK_BYTES) throw corrupt('the tar has no end: it was truncated');
      if (zerosAtEnd < after) throw corrupt('other data follows the last entry of the tar');
    },
  };
}

function countZerosAtEnd(chunk: Buffer): number {
  let end = chunk.length;
  while (end > 0 && chunk[end - 1] === 0) end--;
  return chunk.length - end;
}

function findFault(
  { name, linkname }: Header,
  entries: number,
  limits: ArchiveLimits,
): ArchiveFault | null {
  if (entries > limits.entries) {
    return corrupt(`it has more than ${limits.entries} entries and was not read further`);
  }
  const longest = Math.max(name.length, linkname?.length ?? 0);
  return longest > MAX_NAME_LENGTH
    ? corrupt(`an entry's name is longer than ${MAX_NAME_LENGTH} characters`)
    : null;
}

/**
 * Errors of zlib and tar-stream mean a damaged archive; those of the file system do not. `unknownEntry` is an
 * entry of an unknown type, such as a GNU sparse file, which may be longer than its header says.
 */
function explain(error: unknown, unknownEntry: string | null): unknown {
  if (!(error instanceof Error) || error instanceof ArchiveFault) return error;
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if (syscall !== undefined) return error;
  if (code === 'Z_MEM_ERROR') return error;
  if (code === 'Z_BUF_ERROR') return corrupt('the gzip stream ends too early: it was truncated');
  if (code.startsWith('Z_')) return corrupt(`the gzip stream is damaged: ${error.message}`);
  const doubt =
    unknownEntry === null
      ? ''
      : `; or it is intact and has an entry of an unknown type, ${JSON.stringify(unknownEntry)}: check it with tar tzf`;
  return corrupt(`the tar is damaged: ${error.message}${doubt}`);
}

const types: Record<Header['type'], EntryType> = {
  file: 'file',
  'contiguous-file': 'file',
  directory: 'directory',
  symlink: 'symlink',
  link: 'link',
  'character-device': 'character-device',
  'block-device': 'block-device',
  fifo: 'fifo',
};

function describeEntry({ name, size, mode, type }: Header): ArchiveEntry {
  return {
    path: name,
    size,
    mode: (mode & 0o7777).toString(8).padStart(4, '0'),
    // Null for types that tar-stream does not know, such as a sparse file.
    type: types[type] ?? 'unknown',
  };
}
