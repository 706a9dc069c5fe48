import { statfs } from 'node:fs/promises';

/** An archive folder, and the space on its disk in bytes. */
export interface ArchiveFolder {
  archive_path: string;
  total_disk_bytes: number;
  available_disk_bytes: number;
}

/** Measures the disk of an archive folder. Throws file system errors. */
export async function measureArchiveFolder(path: string): Promise<ArchiveFolder> {
  const { bsize, blocks, bavail } = await statfs(path);
  // A runtime without a disk returns this for any path.
  if (blocks === 0) throw new Error('there is no disk');
  return {
    archive_path: path,
    total_disk_bytes: blocks * bsize,
    available_disk_bytes: bavail * bsize,
  };
}
