import { chmodSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Makes a folder and its contents accessible to the owner only. PGlite creates files with the default umask.
 */
export function makePrivate(folder: string): void {
  setMode(folder, 0o700);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) makePrivate(path);
    else if (entry.isFile()) setMode(path, 0o600);
  }
}

/** Sets a file's mode. Does nothing on Windows. */
export function setMode(path: string, mode: number): void {
  if (process.platform === 'win32') return;
  const { mode: found, uid } = lstatSync(path);
  // Only the owner of a file can change its mode.
  if ((found & 0o777) !== mode && uid === process.getuid?.()) chmodSync(path, mode);
}
