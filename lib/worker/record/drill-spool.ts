import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import * as z from 'zod';
import type { Database } from '../../database/database.ts';
import { syncFile } from '../../durable-files.ts';
import { nullIfMissing } from '../../files.ts';
import { parseJson } from '../../json.ts';
import { type NewDrill, newDrill } from '../../records/drills/new-drill.ts';
import { recordDrill } from '../../records/drills/record.ts';
import { listSpoolFolder, makeSpoolFolder } from './spool-file.ts';

/** With this many files, further drills are dropped: the database has been unreachable for too long. */
const MAX_FILES = 10_000;
const MAX_FILE_BYTES = 2 ** 20;
/** The name contains the time, so that drills are delivered in order. */
const fileName = /^drill-\d{15}-[0-9a-f-]{36}\.json$/;

const spooledDrill = z.strictObject({
  format: z.literal(1),
  run_id: z.int().min(1).nullable(),
  drill: newDrill,
});

/** Keeps a drill in a file of its own until the database is back. False if there are too many already. */
export async function spoolDrill(
  dataFolder: string,
  drill: NewDrill,
  runId: number | null,
): Promise<boolean> {
  const folder = await makeSpoolFolder(dataFolder);
  if ((await listDrillFiles(dataFolder)).length >= MAX_FILES) return false;
  const time = String(Date.parse(drill.startedAt)).padStart(15, '0');
  const path = join(folder, `drill-${time}-${randomUUID()}.json`);
  await writeFile(`${path}.new`, JSON.stringify({ format: 1, run_id: runId, drill }), {
    mode: 0o600,
  });
  await syncFile(`${path}.new`);
  await rename(`${path}.new`, path);
  await syncFile(folder);
  return true;
}

/** The paths of the waiting drills, oldest first. */
export function listDrillFiles(dataFolder: string): Promise<string[]> {
  return listSpoolFolder(dataFolder, fileName);
}

/** The repositories of the waiting drills, in lower case. */
export async function listSpooledDrills(dataFolder: string): Promise<string[]> {
  const found: string[] = [];
  for (const path of await listDrillFiles(dataFolder)) {
    const { drill } = (await read(path)) ?? {};
    if (drill !== undefined) found.push(drill.repository.toLowerCase());
  }
  return found;
}

/** The result of delivering the waiting drills. */
export interface DeliveredDrills {
  delivered: number;
  /** Files that no worker can have written, which are kept. */
  damaged: string[];
}

/**
 * Records the waiting drills, oldest first, and deletes each file once its drill is recorded. Several workers may do so
 * at once. Throws database errors.
 */
export async function deliverDrills(db: Database, dataFolder: string): Promise<DeliveredDrills> {
  const result: DeliveredDrills = { delivered: 0, damaged: [] };
  for (const path of await listDrillFiles(dataFolder)) {
    const found = await read(path);
    if (found === undefined) continue;
    if (found === null) result.damaged.push(basename(path));
    else {
      await recordDrill(db, found.drill, found.run_id);
      await rm(path, { force: true });
      result.delivered++;
    }
  }
  return result;
}

/** Null if the file is damaged, undefined if another worker has delivered it. */
async function read(path: string): Promise<z.output<typeof spooledDrill> | null | undefined> {
  const size = (await nullIfMissing(stat(path)))?.size;
  if (size === undefined) return undefined;
  if (size > MAX_FILE_BYTES) return null;
  const text = await nullIfMissing(readFile(path, 'utf8'));
  if (text === null) return undefined;
  return spooledDrill.safeParse(parseJson(text)).data ?? null;
}
