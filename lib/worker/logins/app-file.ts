import { join } from 'node:path';
import * as z from 'zod';
import { parseJson } from '../../json.ts';
import { type Notify, openPrivateFile, storageUnavailable } from './private-file.ts';

/** The content of app.json: the app that `app create` created. */
const appRecord = z.object({
  id: z.int(),
  slug: z.string().min(1),
  client_id: z.string().min(1),
  client_secret: z.string().min(1),
  pem: z.string().min(1),
  webhook_secret: z.string().nullable(),
  html_url: z.string(),
  /** Origin of the git host that the app is on. */
  host: z.string(),
});
export type AppRecord = z.output<typeof appRecord>;

export function appFilePath(folder: string): string {
  return join(folder, 'app.json');
}

/** Reads app.json; null if there is none. Like the functions below, throws CREDENTIAL_STORAGE_UNAVAILABLE. */
export async function readApp(folder: string, notify: Notify): Promise<AppRecord | null> {
  const path = appFilePath(folder);
  const text = await openPrivateFile(path, notify).read();
  if (text === null) return null;
  const { success, data } = appRecord.safeParse(parseJson(text));
  if (success) return data;
  throw storageUnavailable(
    `${path} is not valid: move it away, or replace it with app create --force`,
  );
}

export async function writeApp(folder: string, app: AppRecord, notify: Notify): Promise<void> {
  const file = openPrivateFile(appFilePath(folder), notify);
  await file.createFolder();
  await file.removeDrafts();
  await file.write(`${JSON.stringify(app, null, 2)}\n`);
}

/** Removes app.json; false if there was none. */
export function removeApp(folder: string, notify: Notify): Promise<boolean> {
  return openPrivateFile(appFilePath(folder), notify).remove();
}
