import type { FileHandle } from 'node:fs/promises';
import { corrupt } from './archive-fault.ts';

/** The header of a git bundle, before the pack (gitformat-bundle). */
export interface BundleHeader {
  /** Bytes before the pack. */
  length: number;
  objectFormat: 'sha1' | 'sha256';
  /** The filter that excluded objects, if any. */
  filter: string | null;
  /** Ids of commits that the bundle needs but does not contain. */
  prerequisites: string[];
  /** In the bundle's order; an id may be that of a tag. */
  refs: { name: string; id: string }[];
  /** The number of objects that the pack claims to contain. */
  objects: number;
}

/** Enough for a mirror with about 400,000 refs. */
const MAX_HEADER_BYTES = 32 * 2 ** 20;
const FIRST_READ_BYTES = 2 ** 16;
const PACK_HEADER_BYTES = 12;
const NO_BUNDLE = 'the file does not start like a git bundle';
const signatures = new Set(['# v2 git bundle', '# v3 git bundle']);

/** Reads the header of an open bundle with refs. Throws ArchiveFault if it is not one. */
export async function readBundleHeader(handle: FileHandle): Promise<BundleHeader> {
  const header = await readIncrementHeader(handle);
  if (header.refs.length === 0) throw corrupt('the bundle has no refs');
  return header;
}

/** Reads the header of an open bundle, which has no refs if the source had none. Throws ArchiveFault. */
export async function readIncrementHeader(handle: FileHandle): Promise<BundleHeader> {
  const bytes = await readToBlankLine(handle);
  const [signature = '', ...lines] = bytes.toString('utf8').split('\n');
  if (!signatures.has(signature)) throw corrupt(NO_BUNDLE);
  const length = bytes.length + 2;
  const header: BundleHeader = {
    length,
    objectFormat: 'sha1',
    filter: null,
    prerequisites: [],
    refs: [],
    objects: await readObjectCount(handle, length),
  };
  for (const line of lines) {
    if (line.startsWith('@')) readCapability(header, line.slice(1));
    else readLine(header, line);
  }
  return header;
}

/** The text before the first blank line. */
async function readToBlankLine(handle: FileHandle): Promise<Buffer> {
  // Doubles the size each time: a short header is cheap, and a long one takes linear time.
  for (let size = FIRST_READ_BYTES; size <= MAX_HEADER_BYTES; size *= 2) {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(size), 0, size, 0);
    const beginning = buffer.subarray(0, bytesRead);
    if (bytesRead === 0) throw corrupt('the file is empty');
    if (beginning.toString('latin1', 0, 3) !== '# v') throw corrupt(NO_BUNDLE);
    const end = beginning.indexOf('\n\n');
    if (end !== -1) return beginning.subarray(0, end);
    if (bytesRead < size) throw corrupt("the bundle's header does not end");
  }
  throw corrupt(`the bundle's header is longer than ${MAX_HEADER_BYTES} bytes`);
}

function readLine(header: BundleHeader, line: string): void {
  // `s`: a name may contain line separators such as U+2028.
  const [, mark, id = '', rest = ''] = /^(-?)([0-9a-f]+)(?: (.*))?$/s.exec(line) ?? [];
  const isId = id.length === (header.objectFormat === 'sha1' ? 40 : 64);
  if (!isId || (mark === '' && rest === '')) throw corrupt("the bundle's header is malformed");
  if (mark === '-') header.prerequisites.push(id);
  else header.refs.push({ name: rest, id });
}

function readCapability(header: BundleHeader, capability: string): void {
  const [name, value = ''] = capability.split('=', 2);
  if (name === 'object-format' && (value === 'sha1' || value === 'sha256')) {
    header.objectFormat = value;
  } else if (name === 'filter') header.filter = value;
  else throw corrupt("the bundle's header requires an unknown capability");
}

async function readObjectCount(handle: FileHandle, position: number): Promise<number> {
  const { buffer, bytesRead } = await handle.read(
    Buffer.alloc(PACK_HEADER_BYTES),
    0,
    PACK_HEADER_BYTES,
    position,
  );
  const isPack = bytesRead === PACK_HEADER_BYTES && buffer.toString('latin1', 0, 4) === 'PACK';
  if (!isPack) throw corrupt('no pack follows the header of the bundle');
  return buffer.readUInt32BE(8);
}
