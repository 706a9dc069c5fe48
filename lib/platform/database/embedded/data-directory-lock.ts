import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { ConfigError } from '../../config/read.ts';
import type { LockAnswer } from './data-directory-lock-thread.ts';

export interface DataDirectoryLock {
  release(): Promise<void>;
}

/**
 * Makes this process the only user of a data directory, or throws ConfigError when another is.
 *
 * The lock is SQLite's exclusive transaction on an empty file: a lock of the operating system, which
 * ends with the process however that ends, so nothing stale is left and two starters cannot both win,
 * as they can with a file that holds a process id. It must not be opened by anything else in this
 * process: POSIX would drop the lock. It lives in a thread of its own because Node 22 warns on stderr
 * when SQLite is loaded.
 */
export async function lockDataDirectory(dataDir: string): Promise<DataDirectoryLock> {
  const thread = new Worker(new URL('./data-directory-lock-thread.ts', import.meta.url), {
    workerData: join(dataDir, 'lock.sqlite'),
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  const exit = once(thread, 'exit');
  const [answer]: [LockAnswer] = (await once(thread, 'message')) as [LockAnswer];
  if (answer !== null) {
    await thread.terminate();
    throw new ConfigError(
      answer.busy
        ? 'DATA_DIR is in use by another process'
        : `DATA_DIR cannot be locked: ${answer.reason}`,
    );
  }
  // A process that has nothing else to do may end without giving the lock back.
  thread.unref();
  return {
    async release() {
      thread.ref();
      thread.postMessage(null);
      await exit;
    },
  };
}
