import { execFile } from 'node:child_process';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../support/folders.ts';

const execute = promisify(execFile);

/** A small, separate file system. */
export interface SmallDisk {
  path: string;
  /** Bytes that are in use. */
  used(): Promise<number>;
  /** Fills it up except for this many bytes. */
  leave(bytes: number): Promise<void>;
  /** Frees what was filled. */
  free(): Promise<void>;
  remove(): Promise<void>;
}

/** Whether this process may mount a file system, which even root may not in some containers. */
export async function mayMount(): Promise<boolean> {
  try {
    await (await makeSmallDisk(1)).remove();
    return true;
  } catch {
    return false;
  }
}

/** Makes a file system in memory. Throws if this process may not do that. */
export async function makeSmallDisk(mebibytes: number): Promise<SmallDisk> {
  const { path, remove } = await temporaryFolder();
  const options = ['-t', 'tmpfs', '-o', `size=${mebibytes}m`];
  try {
    await execute('mount', [...options, 'small-disk', path]);
  } catch (error) {
    await remove();
    throw error;
  }
  const filling = join(path, 'filling');
  const read = async () => {
    const { bavail, blocks, bsize } = await statfs(path);
    return { left: bavail * bsize, used: (blocks - bavail) * bsize };
  };
  return {
    path,
    used: async () => (await read()).used,
    async leave(bytes) {
      const { left } = await read();
      await writeFile(filling, Buffer.alloc(Math.max(0, left - bytes)));
    },
    free: () => rm(filling, { force: true }),
    async remove() {
      await execute('umount', [path]);
      await remove();
    },
  };
}
