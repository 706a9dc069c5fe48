import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** What a lock is asked for: its file and how long to wait while another holds it, in milliseconds. */
export interface LockRequest {
  file: string;
  waitMs: number;
}

/** What the thread answers: null once it holds the lock, else why it does not. */
export type LockAnswer = { busy: boolean; reason: string } | null;

const SQLITE_BUSY = 5;

/** Takes the lock, holds it until a message comes, and ends. */
function holdLock({ file, waitMs }: LockRequest): LockAnswer {
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
