import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { LockAnswer, LockRequest } from './process-lock-thread.ts';

export type ProcessLock =
  | { held: true; release(): Promise<void> }
  /** `busy`: another holds it. `reason` is the system's. */
  | { held: false; busy: boolean; reason: string };

/**
 * Takes a lock that one holder has at a time, on this machine, waiting `waitMs` milliseconds for it.
 *
 * The lock is SQLite's exclusive transaction on an empty file: a lock of the operating system, which
 * ends with the process however that ends, so nothing stale is left and two starters cannot both win,
 * as they can with a file that holds a process id. It must not be opened by anything but SQLite in this
 * process: POSIX would drop the lock. It lives in a thread of its own because SQLite waits without
 * letting go of its thread, and because Node 22 warns on stderr when SQLite is loaded.
 */
export async function takeProcessLock(file: string, waitMs: number): Promise<ProcessLock> {
  const request: LockRequest = { file, waitMs };
  const thread = new Worker(new URL('./process-lock-thread.ts', import.meta.url), {
    workerData: request,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const exit = once(thread, 'exit');
  const [answer]: [LockAnswer] = (await once(thread, 'message')) as [LockAnswer];
  if (answer !== null) {
    await thread.terminate();
    return { held: false, ...answer };
  }
  // A process that has nothing else to do may end without giving the lock back.
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
