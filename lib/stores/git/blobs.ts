import { createHash, type Hash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Git } from '../../git/git.ts';
import type { ObjectFile } from '../base/object-store.ts';
import { type ObjectPart, partPath } from './parts.ts';
import type { RepositoryClone } from './repository-clone.ts';

const CHUNK_BYTES = 2 ** 20;

/** The blobs of a clone. Nothing outside its folder is written. */
export interface Blobs {
  /**
   * Writes a file as the parts of an object, and calls `onPart` with each. Null if the file is not the one announced.
   * Throws GitError and file system errors.
   */
  writeParts(
    key: string,
    file: ObjectFile,
    sizes: readonly number[],
    onPart: (part: ObjectPart) => Promise<void>,
  ): Promise<ObjectPart[] | null>;
  /** Writes text and returns its id. */
  writeText(text: string): Promise<string>;
  /** The size of an existing blob. Throws GitError. */
  sizeOf(id: string): Promise<number>;
  /** Copies an existing blob to a file. Throws GitError. */
  copy(id: string, to: string): Promise<void>;
  /** Removes blobs that were written, so that a run does not need disk space for all of them. */
  forget(ids: Iterable<string>): Promise<void>;
}

interface BlobsOptions {
  git: Git;
  clone: RepositoryClone;
  /** For temporary files. */
  scratch: string;
  signal: AbortSignal;
  /** Waits as long as the bandwidth limit requires. */
  pace(bytes: number): Promise<void>;
}

/** Opens the blobs of a clone. */
export function openBlobs({ git, clone, scratch, signal, pace }: BlobsOptions): Blobs {
  // A larger blob would be written into a pack, from which it could not be removed.
  const hash = ['-c', 'core.bigFileThreshold=1g', 'hash-object', '-w', '--no-filters'];
  let made = 0;

  /** Cuts a part out of a file, and also computes the id that git would give it. */
  async function cut(
    path: string,
    [start, bytes]: readonly [number, number],
    to: string,
    whole: Hash,
  ): Promise<{ size: number; sha1: string }> {
    const sha1 = createHash('sha1').update(`blob ${bytes}\0`);
    let size = 0;
    const read = async function* () {
      if (bytes === 0) return;
      const range = { start, end: start + bytes - 1, highWaterMark: CHUNK_BYTES };
      for await (const chunk of createReadStream(path, range) as AsyncIterable<Buffer>) {
        await pace(chunk.length);
        whole.update(chunk);
        sha1.update(chunk);
        size += chunk.length;
        yield chunk;
      }
    };
    await pipeline(read, createWriteStream(to, { mode: 0o600 }), { signal });
    return { size, sha1: sha1.digest('hex') };
  }

  return {
    async writeParts(key, file, sizes, onPart) {
      if ((await stat(file.path)).size !== file.sizeBytes) return null;
      const whole = createHash('sha256');
      const parts: ObjectPart[] = [];
      let start = 0;
      for (const [index, bytes] of sizes.entries()) {
        const temporary = join(scratch, `part-${made++}`);
        try {
          const { size, sha1 } = await cut(file.path, [start, bytes], temporary, whole);
          const id = (await clone.local([...hash, '--', temporary])).trim();
          // Repositories with hashes other than SHA-1 have longer ids.
          const isSame = id.length !== sha1.length || id === sha1;
          if (size !== bytes || !isSame) return null;
          const part = { path: partPath(key, index + 1, sizes.length, bytes), id, bytes };
          parts.push(part);
          await onPart(part);
        } finally {
          await rm(temporary, { force: true });
        }
        start += bytes;
      }
      return whole.digest('hex') === file.sha256 ? parts : null;
    },
    writeText: async (text) => (await clone.local([...hash, '--stdin'], { stdin: text })).trim(),
    sizeOf: async (id) => Number((await clone.local(['cat-file', '-s', id])).trim()),
    async copy(id, to) {
      const handle = await open(to, 'w', 0o600);
      try {
        await git.write([`--git-dir=${clone.gitDir}`, 'cat-file', 'blob', id], handle);
      } finally {
        await handle.close();
      }
    },
    async forget(ids) {
      for (const id of ids) {
        await rm(join(clone.gitDir, 'objects', id.slice(0, 2), id.slice(2)), { force: true });
      }
    },
  };
}
