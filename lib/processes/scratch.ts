import { rmSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { nullIfMissing } from '../files.ts';

/** How long the folder of a worker on another machine is left alone. */
const FOREIGN_LEFTOVER_MS = 24 * 60 * 60_000;
const removal = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };
const leftover = /^\.scratch-(.+)-(\d+)-[A-Za-z0-9]{6}$/;

/** The folders of this process, with what removes each when the process exits first. */
const inUse = new Map<string, () => void>();

/**
 * Makes a folder for clones and unfinished files inside another one. Its name says whose it is. It is
 * removed by `removeScratch`, or when this process exits.
 */
export async function makeScratch(folder: string): Promise<string> {
  const path = await mkdtemp(join(folder, `.scratch-${hostname()}-${process.pid}-`));
  const removeAtExit = () => rmSync(path, removal);
  inUse.set(path, removeAtExit);
  process.once('exit', removeAtExit);
  return path;
}

/** Removes a scratch folder; git may still be writing there while it is being stopped. */
export async function removeScratch(path: string): Promise<void> {
  await rm(path, removal);
  const removeAtExit = inUse.get(path);
  if (removeAtExit === undefined) return;
  process.removeListener('exit', removeAtExit);
  inUse.delete(path);
}

/**
 * Removes what killed processes of this user left in a folder: scratch folders of processes of this
 * machine that are gone, and those of other machines after a day. Returns how many those were.
 */
export async function sweepScratch(folder: string, now: number): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true });
  let removed = 0;
  for (const entry of entries) {
    const [, host, pid] = leftover.exec(entry.name) ?? [];
    if (host === undefined || !entry.isDirectory()) continue;
    const path = join(folder, entry.name);
    if (inUse.has(path)) continue;
    const found = await nullIfMissing(stat(path));
    // Someone else's can be neither judged nor removed, as in the folder for temporary files.
    if (found === null || found.uid !== (process.getuid?.() ?? found.uid)) continue;
    const isLeft =
      host === hostname() ? !isRunning(Number(pid)) : found.mtimeMs < now - FOREIGN_LEFTOVER_MS;
    if (!isLeft) continue;
    await removeScratch(path);
    removed++;
  }
  return removed;
}

function isRunning(pid: number): boolean {
  // Not one in use: of a process that had our id before us, as in a restarted container.
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
