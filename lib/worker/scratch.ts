import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';

/** How long the folder of a worker on another machine is left alone. */
const FOREIGN_LEFTOVER_MS = 24 * 60 * 60_000;
const leftover = /^\.scratch-(.+)-(\d+)-[A-Za-z0-9]{6}$/;

/**
 * Makes a folder for clones and unfinished bundles inside the archive folder, so that a finished one is
 * put in its place by a rename. Its name says whose it is.
 */
export function makeScratch(archiveFolder: string): Promise<string> {
  return mkdtemp(join(archiveFolder, `.scratch-${hostname()}-${process.pid}-`));
}

/** Removes a scratch folder; git may still be writing there while it is being stopped. */
export function removeScratch(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
}

/**
 * Removes what killed workers left in the archive folder: folders of processes of this machine that are
 * gone, and those of other machines after a day. Returns how many those were.
 */
export async function sweepScratch(archiveFolder: string, now: number): Promise<number> {
  const entries = await readdir(archiveFolder, { withFileTypes: true });
  let removed = 0;
  for (const entry of entries) {
    const [, host, pid] = leftover.exec(entry.name) ?? [];
    if (host === undefined || !entry.isDirectory()) continue;
    const path = join(archiveFolder, entry.name);
    const isLeft =
      host === hostname()
        ? !isRunning(Number(pid))
        : (await stat(path)).mtimeMs < now - FOREIGN_LEFTOVER_MS;
    if (!isLeft) continue;
    await removeScratch(path);
    removed++;
  }
  return removed;
}

function isRunning(pid: number): boolean {
  // Ours has no folder yet: a process that had our id before it, as in a restarted container.
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
