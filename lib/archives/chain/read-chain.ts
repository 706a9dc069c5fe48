import type { FileHandle } from 'node:fs/promises';
import { ArchiveFault, corrupt } from '../base/archive-fault.ts';
import { type BundleHeader, readBundleHeader, readIncrementHeader } from '../base/bundle-header.ts';
import { sourceName } from '../base/manifest.ts';
import type { OpenArchive } from '../base/open-archive.ts';

/** One open bundle of an archive, with its header. */
export interface ChainFile {
  name: string;
  handle: FileHandle;
  sizeBytes: number;
  header: BundleHeader;
  /** The SHA-256 in the note; null if there is none. */
  sha256: string | null;
}

/** The bundles of an archive: the full one, then the increments that continue it, in order. */
export interface Chain {
  base: ChainFile;
  increments: readonly ChainFile[];
  /** What a source has now: the refs of the newest file, under the names of the source. */
  refs: BundleHeader['refs'];
  sizeBytes: number;
  objects: number;
}

/**
 * Reads the headers of an archive's bundles: of all, or of the first `count`. Throws ArchiveFault, which names the
 * file if it is an increment.
 */
export async function readChain(archive: OpenArchive, count = Infinity): Promise<Chain> {
  const { name, handle, sizeBytes, noted } = archive;
  const header = await readBundleHeader(handle);
  const base = { name, handle, sizeBytes, header, sha256: noted?.sha256 ?? null };
  const increments: ChainFile[] = [];
  for (const { name, sha256, file } of archive.increments.slice(0, count - 1)) {
    if (file === null) throw corrupt(`${name}, which continues it, is missing`);
    const header = await named(name, () => readIncrementHeader(file.handle));
    if (header.objectFormat !== base.header.objectFormat) {
      throw corrupt(`${name} has objects of another format than ${base.name}`);
    }
    increments.push({ name, handle: file.handle, sizeBytes: file.sizeBytes, header, sha256 });
  }
  const files = [base, ...increments];
  const newest = (increments.at(-1) ?? base).header.refs;
  // The bundle of an earlier release has the names of the source.
  const hasVersions = (noted?.versions.length ?? 0) > 0;
  return {
    base,
    increments,
    refs: hasVersions ? newest.flatMap(sourceRef) : newest,
    sizeBytes: files.reduce((sum, file) => sum + file.sizeBytes, 0),
    objects: files.reduce((sum, file) => sum + file.header.objects, 0),
  };
}

/** Names the file in a fault that is found in it. */
export async function named<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof ArchiveFault)) throw error;
    throw new ArchiveFault(error.kind, `${name}: ${error.reason}`);
  }
}

/** A ref under its name at the source; none for what the source has overwritten or deleted. */
function sourceRef({ name, id }: { name: string; id: string }): { name: string; id: string }[] {
  const own = sourceName(name);
  return own === null ? [] : [{ name: own, id }];
}
