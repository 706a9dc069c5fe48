import { join } from 'node:path';
import { ConfigError } from '../../config/read.ts';
import { takeProcessLock } from '../../processes/process-lock.ts';

export interface DataDirectoryLock {
  release(): Promise<void>;
}

/** Locks a data directory for this process. Throws ConfigError when another process uses it. */
export async function lockDataDirectory(dataDir: string): Promise<DataDirectoryLock> {
  const lock = await takeProcessLock(join(dataDir, 'lock.sqlite'), 0);
  if (lock.held) return lock;
  throw new ConfigError(
    lock.busy
      ? 'DATA_DIR is in use by another process'
      : `DATA_DIR cannot be locked: ${lock.reason}`,
  );
}
