import { randomBytes } from 'node:crypto';
import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFile } from '../../../durable-files.ts';
import { nullIfMissing } from '../../../files.ts';

const tokenName = /^\.fleet-[0-9a-f]{32}$/;
/** Tokens older than this were left by killed workers. */
const LEFTOVER_MS = 24 * 60 * 60_000;

const fileOf = (folder: string, token: string) => join(folder, `.fleet-${token}`);

/** Writes a new token into the archive folder, and removes those that killed workers left. */
export async function writeFolderToken(folder: string): Promise<string> {
  const token = randomBytes(16).toString('hex');
  await writeFile(fileOf(folder, token), '', { mode: 0o600, flag: 'wx', flush: true });
  // Compare times of the same clock: this machine's may be wrong.
  const { mtimeMs: now } = await stat(fileOf(folder, token));
  for (const name of await readdir(folder)) {
    if (!tokenName.test(name)) continue;
    const found = await nullIfMissing(stat(join(folder, name)));
    if (found !== null && found.mtimeMs < now - LEFTOVER_MS) await rm(join(folder, name));
  }
  await syncFile(folder);
  return token;
}

/** Whether the archive folder has this token, and so is the folder in which it was written. */
export async function hasFolderToken(folder: string, token: string): Promise<boolean> {
  const path = fileOf(folder, token);
  // The token comes from the database and becomes part of a path.
  if (!/^[0-9a-f]{32}$/.test(token)) return false;
  return (await nullIfMissing(stat(path)))?.isFile() === true;
}

/** Removes a token from the archive folder. */
export async function removeFolderToken(folder: string, token: string): Promise<void> {
  await rm(fileOf(folder, token), { force: true });
}
