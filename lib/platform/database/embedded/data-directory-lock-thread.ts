import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** What the thread answers: null once it holds the lock, else why it does not. */
export type LockAnswer = { busy: boolean; reason: string } | null;

const SQLITE_BUSY = 5;

/** Takes the lock on the file named by `workerData`, holds it until a message comes, and ends. */
function holdLock(file: string): LockAnswer {
  try {
    const database = new DatabaseSync(file);
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    parentPort?.once('message', () => database.close());
    return null;
  } catch (error) {
    const { errcode, message } = error as { errcode?: number; message: string };
    return { busy: errcode === SQLITE_BUSY, reason: message };
  }
}

parentPort?.postMessage(holdLock(String(workerData)));
