import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** The lock file, and how many milliseconds to wait for the lock. */
export interface LockRequest {
  file: string;
  waitMs: number;
}

/** Null once the thread holds the lock, otherwise the reason why it does not. */
export type LockFailure = { busy: boolean; reason: string } | null;

const SQLITE_BUSY = 5;

/** Takes the lock and holds it until a message arrives. */
function holdLock({ file, waitMs }: LockRequest): LockFailure {
  try {
    const database = new DatabaseSync(file, { timeout: waitMs });
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    parentPort?.once('message', () => database.close());
    return null;
  } catch (error) {
    const { errcode, message } = error as { errcode?: number; message: string };
    return { busy: errcode === SQLITE_BUSY, reason: message };
  }
}

parentPort?.postMessage(holdLock(workerData as LockRequest));
