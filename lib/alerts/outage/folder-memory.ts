import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../../durable-files.ts';
import { nullIfMissing } from '../../files.ts';
import { parseJson } from '../../json.ts';
import { takeProcessLock } from '../../processes/process-lock.ts';
import { type OutageMemory, type OutageState, outageState } from './outage-memory.ts';

/** Longer than all channels need for a message. */
const LOCK_WAIT_MS = 20_000;

/**
 * Keeps the memory in a file in DATA_DIR, which the worker and the server of a machine share. A database often goes
 * down because the disk is full: what cannot be written is kept in this process, so that the alert is still sent.
 */
export function rememberInFolder(
  dataFolder: string,
  onFailure: (error: unknown) => void,
): OutageMemory {
  const folder = join(dataFolder, 'alerts');
  const path = join(folder, 'database-away.json');
  let unwritten: OutageState | null = null;
  const makeFolder = () => mkdir(folder, { recursive: true, mode: 0o700 });
  return {
    async read() {
      if (unwritten !== null) return unwritten;
      try {
        const text = await nullIfMissing(readFile(path, 'utf8'));
        return text === null ? null : (outageState.safeParse(parseJson(text)).data ?? null);
      } catch (error) {
        onFailure(error);
        return null;
      }
    },
    async write(state) {
      try {
        await makeFolder();
        await replaceFile(path, `${JSON.stringify(state)}\n`);
        unwritten = null;
      } catch (error) {
        unwritten = structuredClone(state);
        onFailure(error);
      }
    },
    async exclusively(work) {
      await makeFolder().catch(onFailure);
      const lock = await takeProcessLock(join(folder, 'database-away.lock'), LOCK_WAIT_MS);
      if (!lock.held && lock.busy) return;
      try {
        await work();
      } finally {
        if (lock.held) await lock.release();
      }
    },
  };
}
