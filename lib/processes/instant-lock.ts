const SQLITE_BUSY = 5;

export type InstantLock =
  | { held: true; release(): void }
  /** `busy`: another process holds it. `reason`: the error message. */
  | { held: false; busy: boolean; reason: string };

/**
 * Takes an exclusive lock on this machine without waiting. Like `takeProcessLock`, but without its thread, whose start
 * takes longer than a small run. The operating system releases the lock, however the process ends.
 */
export async function tryProcessLock(file: string): Promise<InstantLock> {
  // Loaded lazily, because the deployed functions' runtimes have no such module.
  const { DatabaseSync } = await import('node:sqlite');
  try {
    const database = new DatabaseSync(file, { timeout: 0 });
    try {
      database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    } catch (error) {
      database.close();
      throw error;
    }
    return { held: true, release: () => database.close() };
  } catch (error) {
    const { errcode, message } = error as { errcode?: number; message: string };
    return { held: false, busy: errcode === SQLITE_BUSY, reason: message };
  }
}
