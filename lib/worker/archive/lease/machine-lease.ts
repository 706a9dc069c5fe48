import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import * as z from 'zod';
import type { Database } from '../../../database/database.ts';
import { replaceFile } from '../../../durable-files.ts';
import { nullIfMissing } from '../../../files.ts';
import { parseJson } from '../../../json.ts';
import { tryProcessLock } from '../../../processes/instant-lock.ts';
import {
  findHolder,
  forgetHolder,
  type LockHolder,
  noteHolder,
} from '../../../processes/lock-holder.ts';
import { failDeadRun, type StartedRun } from '../../../records/recording/runs.ts';
import { makeArchiveFolder } from '../archive.ts';

const identity = z.object({ host: z.string(), id: z.uuid() });
const runNote = z.object({ host: z.string(), id: z.int(), started_at: z.string() });

const IDENTITY = 'machine.json';

/** The right of one process of this machine to run backups in a DATA_DIR. */
export interface MachineLease {
  /** The id of this machine's DATA_DIR, which has the mirrors. It changes with the name of the machine. */
  machine: string;
  /** The run of a process that was killed before it could end it; null if there is none. */
  abandoned: StartedRun | null;
  /** Notes the run, so that the next process knows whose it was if this one is killed. */
  note(run: StartedRun): Promise<void>;
  /** Releases the lease. `isEnded`: the run's end is recorded, so its note can be deleted. */
  release(isEnded: boolean): void;
}

/** Why there is no lease. */
export interface LeaseRefusal {
  /** Whether another process has it. */
  busy: boolean;
  reason: string;
  /** That process, if it is known. */
  holder: LockHolder | null;
}

/**
 * Takes the lease of a folder, or says why not: `busy` if another process has it. It is a lock of the operating
 * system: once it is free, the process of the noted run is dead, even across containers and when process ids repeat.
 */
export async function takeMachineLease(dataFolder: string): Promise<MachineLease | LeaseRefusal> {
  try {
    await makeArchiveFolder(dataFolder);
  } catch (error) {
    return { busy: false, reason: (error as Error).message, holder: null };
  }
  const lockFile = join(dataFolder, 'worker.lock');
  const lock = await tryProcessLock(lockFile);
  if (!lock.held) return { ...lock, holder: lock.busy ? findHolder(lockFile) : null };
  const path = join(dataFolder, 'worker-run.json');
  let known: Pick<MachineLease, 'machine' | 'abandoned'>;
  try {
    known = { machine: await identify(dataFolder), abandoned: await readNote(path) };
    noteHolder(lockFile);
  } catch (error) {
    lock.release();
    return { busy: false, reason: (error as Error).message, holder: null };
  }
  return {
    ...known,
    async note({ id, startedAt }) {
      const text = JSON.stringify({ host: hostname(), id, started_at: startedAt });
      await replaceFile(path, `${text}\n`);
    },
    release(isEnded) {
      // Synchronous, because Node's file threads may all be waiting for a file system that hangs.
      if (isEnded) rmSync(path, { force: true });
      forgetHolder(lockFile);
      lock.release();
    },
  };
}

/** Ends the run of a worker of this DATA_DIR that was killed, if there is one and no other worker runs. */
export async function endDeadRun(db: Database, dataFolder: string): Promise<void> {
  const lease = await takeMachineLease(dataFolder);
  if ('busy' in lease) return;
  let isEnded = false;
  try {
    if (lease.abandoned !== null) await failDeadRun(db, lease.abandoned);
    isEnded = true;
  } finally {
    lease.release(isEnded);
  }
}

/** Reads the id of this machine's DATA_DIR. Creates one if it has none, or that of another machine, as in a copy. */
export async function identify(dataFolder: string): Promise<string> {
  const known = await findIdentity(dataFolder);
  if (known !== null) return known;
  const made = { host: hostname(), id: randomUUID() };
  await replaceFile(join(dataFolder, IDENTITY), `${JSON.stringify(made)}\n`);
  return made.id;
}

/** The id of this machine's DATA_DIR; null if no worker has used it here. */
export async function findIdentity(dataFolder: string): Promise<string | null> {
  const text = await nullIfMissing(readFile(join(dataFolder, IDENTITY), 'utf8'));
  const { data } = identity.safeParse(text === null ? null : parseJson(text));
  return data?.host === hostname() ? data.id : null;
}

/** Ignores a note of another machine, whose locks may not be visible here. */
async function readNote(path: string): Promise<StartedRun | null> {
  const text = await nullIfMissing(readFile(path, 'utf8'));
  const { data } = runNote.safeParse(text === null ? null : parseJson(text));
  return data?.host === hostname() ? { id: data.id, startedAt: data.started_at } : null;
}
