import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '../../platform/errors.ts';
import {
  makePrivateFolder,
  mendMode,
  type Notify,
  removeDrafts,
  writePrivateFile,
} from './private-file.ts';

/** The app that `app create` made, as app.json keeps it (spec 3, app create). */
export const appRecord = z.object({
  id: z.int(),
  slug: z.string().min(1),
  client_id: z.string().min(1),
  client_secret: z.string().min(1),
  pem: z.string().min(1),
  webhook_secret: z.string().nullable(),
  html_url: z.string(),
  /** Origin of the git host that it is on. */
  host: z.string(),
});
export type AppRecord = z.output<typeof appRecord>;

export function appFilePath(folder: string): string {
  return join(folder, 'app.json');
}

/** app.json; null when there is none. Throws CREDENTIAL_STORAGE_UNAVAILABLE when it cannot be read. */
export async function readApp(folder: string, notify: Notify): Promise<AppRecord | null> {
  const path = appFilePath(folder);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw unavailable(`${path} cannot be read (${code})`);
  }
  await mendMode(path, 0o600, notify);
  try {
    return appRecord.parse(JSON.parse(text));
  } catch {
    // Not the parser's words: they repeat what it read.
    throw unavailable(`${path} is not valid: move it away, or replace it with app create --force`);
  }
}

/** Writes app.json (0600) in its folder (0700). Throws CREDENTIAL_STORAGE_UNAVAILABLE. */
export async function writeApp(folder: string, app: AppRecord, notify: Notify): Promise<void> {
  const path = appFilePath(folder);
  try {
    await makePrivateFolder(folder);
    await mendMode(folder, 0o700, notify);
    await removeDrafts(path);
    await writePrivateFile(path, `${JSON.stringify(app, null, 2)}\n`);
  } catch (error) {
    throw unavailable(`${path} cannot be written (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Removes app.json; false when there was none. */
export async function removeApp(folder: string): Promise<boolean> {
  try {
    await removeDrafts(appFilePath(folder));
    await rm(appFilePath(folder));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return false;
    throw unavailable(`${appFilePath(folder)} cannot be removed (${code})`);
  }
}

function unavailable(message: string): AppError {
  return new AppError('CREDENTIAL_STORAGE_UNAVAILABLE', message);
}
