import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { LockFailure, LockRequest } from './process-lock-thread.ts';

export type ProcessLock =
  | { held: true; release(): Promise<void> }
  /** `busy`: another process holds it. `reason`: the error message. */
  | { held: false; busy: boolean; reason: string };

/**
 * Takes an exclusive lock on this machine, waiting up to `waitMs` milliseconds.
 *
 * The lock is an exclusive SQLite transaction on an empty file. The operating system releases it, however the process
 * ends, so it is never stale, and unlike with a PID file, two processes cannot both get it. Nothing else in this
 * process may open the file: POSIX would drop the lock. It runs in its own thread because SQLite blocks its thread
 * while waiting, and because Node 22 prints a warning when SQLite is loaded.
 */
export async function takeProcessLock(file: string, waitMs: number): Promise<ProcessLock> {
  const request: LockRequest = { file, waitMs };
  const thread = new Worker(new URL('./process-lock-thread.ts', import.meta.url), {
    workerData: request,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const exit = once(thread, 'exit');
  const [answer]: [LockFailure] = (await once(thread, 'message')) as [LockFailure];
  if (answer !== null) {
    await thread.terminate();
    return { held: false, ...answer };
  }
  // Do not keep the process alive only for the lock.
  thread.unref();
  return {
    held: true,
    async release() {
      thread.ref();
      thread.postMessage(null);
      await exit;
    },
  };
}
