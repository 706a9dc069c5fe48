import { rmSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { nullIfMissing } from '../files.ts';
import { cleanText } from '../text/clean-text.ts';
import { counted } from '../text/units.ts';
import { isRunning } from './process-info.ts';

/** The age at which a folder of another machine is removed. */
const FOREIGN_LEFTOVER_MS = 24 * 60 * 60_000;
const removal = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };
/** The default name prefix of scratch folders. */
const SCRATCH = '.scratch';
const leftover = /^(.+)-(\d+)-[A-Za-z0-9]{6}$/;

/** The folders of this process. */
const inUse = new Set<string>();

function removeAll(): void {
  for (const path of inUse) rmSync(path, removal);
}

/**
 * Creates a folder for clones and temporary files. Its name identifies its process. It is removed by
 * `removeScratch`, or when this process exits. In a folder shared with other programs, it needs its own `name`.
 */
export async function makeScratch(folder: string, name = SCRATCH): Promise<string> {
  const path = await mkdtemp(join(folder, `${name}-${hostname()}-${process.pid}-`));
  // One listener for all folders, as there may be many.
  if (inUse.size === 0) process.once('exit', removeAll);
  inUse.add(path);
  return path;
}

/** Removes a scratch folder. Retries, because git may still be writing there while it is being stopped. */
export async function removeScratch(path: string): Promise<void> {
  await rm(path, removal);
  if (inUse.delete(path) && inUse.size === 0) process.removeListener('exit', removeAll);
}

/** Folders that could not be removed, and why. */
export interface StuckLeftovers {
  count: number;
  /** The first of the folders. */
  path: string;
  reason: string;
}

/**
 * Removes scratch folders that killed processes of this user left behind: those of this machine if their process no
 * longer runs, those of other machines after a day. Folders that cannot be removed do no harm; they are returned, or
 * null if there are none. Throws if the parent folder cannot be read.
 */
export async function sweepScratch(
  folder: string,
  now: number,
  name = SCRATCH,
): Promise<StuckLeftovers | null> {
  const entries = await readdir(folder, { withFileTypes: true });
  const stuck: { path: string; reason: string }[] = [];
  for (const entry of entries) {
    if (!entry.isDirectory() || !entry.name.startsWith(`${name}-`)) continue;
    const [, host, pid] = leftover.exec(entry.name.slice(name.length + 1)) ?? [];
    if (host === undefined) continue;
    const path = join(folder, entry.name);
    if (inUse.has(path)) continue;
    const found = await nullIfMissing(stat(path));
    // Folders of other users cannot be removed.
    if (found === null || found.uid !== (process.getuid?.() ?? found.uid)) continue;
    const isLeft =
      host === hostname() ? !isRunning(Number(pid)) : found.mtimeMs < now - FOREIGN_LEFTOVER_MS;
    if (!isLeft) continue;
    try {
      await removeScratch(path);
    } catch (error) {
      stuck.push({ path, reason: (error as Error).message });
    }
  }
  const [first] = stuck;
  return first === undefined ? null : { ...first, count: stuck.length };
}

/** Describes leftovers that must be removed by hand. */
export function describeStuck({ count, path, reason }: StuckLeftovers): string {
  const what = counted(count, 'folder');
  return cleanText(
    `${what} left by a killed process cannot be removed and must be removed by hand, first ${path}: ${cleanText(reason, 300)}`,
  );
}
