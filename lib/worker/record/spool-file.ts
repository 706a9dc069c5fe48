import { randomUUID } from 'node:crypto';
import { mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import type { Clock } from '../../clock.ts';
import { restrict, syncFile, syncHandle } from '../../durable-files.ts';
import { messageOf } from '../../errors.ts';
import { nullIfMissing } from '../../files.ts';
import type { StartedRun } from '../../records/recording/runs.ts';
import { formatBytes } from '../../text/units.ts';
import type { StoredEntry } from '../base/run-entry.ts';
import { RunStopped } from '../base/stop.ts';
import { formatEntry, type SpooledEnding, type SpoolHeader } from './spool-line.ts';

/** The run ends at this size: the database has been unreachable for too long. */
export const MAX_SPOOL_BYTES = 256 * 2 ** 20;

const fileName = /^\d{6}-[0-9a-f-]{36}\.jsonl$/;

/** Creates the folder of everything that waits for the database. Only its owner can read it. */
export async function makeSpoolFolder(dataFolder: string): Promise<string> {
  const folder = join(dataFolder, 'spool');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await restrict(folder, 0o700);
  return folder;
}

/** The paths of its files whose names match, sorted by name. */
export async function listSpoolFolder(dataFolder: string, fitting: RegExp): Promise<string[]> {
  const folder = join(dataFolder, 'spool');
  const names = (await nullIfMissing(readdir(folder))) ?? [];
  return names
    .filter((name) => fitting.test(name))
    .sort()
    .map((name) => join(folder, name));
}

/** The paths of all spools, in the order of creation. */
export function listSpools(dataFolder: string): Promise<string[]> {
  return listSpoolFolder(dataFolder, fileName);
}

/** The spool of a run whose database is unreachable. */
export interface SpoolFile {
  /**
   * Appends a line, and waits for the disk unless it is a log line. Throws RunStopped if the file cannot be written or
   * would become too large; there is always room for the end.
   */
  append(entry: StoredEntry | SpooledEnding): Promise<void>;
  close(): Promise<void>;
}

interface SpoolOptions {
  dataFolder: string;
  clock: Pick<Clock, 'now'>;
  /** The run's row, if it started in the database. */
  run: StartedRun | null;
  /** When the run began, in milliseconds since the epoch. */
  began: number;
  maxBytes?: number;
}

/** Creates a spool that only its owner can read. Throws RunStopped if it cannot be written. */
export async function createSpool(options: SpoolOptions): Promise<SpoolFile> {
  const { dataFolder, clock, run, began, maxBytes = MAX_SPOOL_BYTES } = options;
  const create = async () => {
    const folder = await makeSpoolFolder(dataFolder);
    const last = (await listSpools(dataFolder)).at(-1)?.slice(folder.length + 1, folder.length + 7);
    const number = `${Number(last ?? 0) + 1}`.padStart(6, '0');
    const id = randomUUID();
    const file = await open(join(folder, `${number}-${id}.jsonl`), 'ax', 0o600);
    const at = new Date(began).toISOString();
    const header: SpoolHeader = { type: 'run', format: 1, spool_id: id, at, run };
    await file.appendFile(`${JSON.stringify(header)}\n`);
    await syncHandle(file);
    await syncFile(folder);
    return file;
  };
  const file = await create().catch(cannotWrite);
  const inTurn = pLimit(1);
  const time = createTimes(clock);
  let size = 0;
  let broken: unknown = null;

  return {
    append: (entry) =>
      inTurn(async () => {
        if (broken !== null) throw broken;
        const line = Buffer.from(`${formatEntry(entry, time())}\n`);
        if (size + line.length > maxBytes && entry.type !== 'end') {
          const limit = formatBytes(maxBytes);
          throw new RunStopped(
            `the database was unreachable for too long: what this run records exceeds ${limit}`,
          );
        }
        size += line.length;
        try {
          await file.appendFile(line);
          if (entry.type !== 'log') await syncHandle(file);
        } catch (error) {
          // Nothing may follow a partial line.
          broken = error;
          await cannotWrite(error);
        }
      }),
    close: () => inTurn(() => file.close()),
  };
}

async function cannotWrite(cause: unknown): Promise<never> {
  const reason = messageOf(cause);
  throw new RunStopped(
    `the database is unreachable, and DATA_DIR/spool cannot be written: ${reason}`,
    {
      cause,
    },
  );
}

/** Times with microseconds, each later than the last. */
function createTimes(clock: Pick<Clock, 'now'>): () => string {
  let last = 0;
  return () => {
    last = Math.max(last + 1, clock.now() * 1_000);
    const ms = Math.floor(last / 1_000);
    const micros = `${last % 1_000}`.padStart(3, '0');
    return new Date(ms).toISOString().replace('Z', `${micros}Z`);
  };
}
