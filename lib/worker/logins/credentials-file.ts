import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../platform/errors.ts';
import { takeProcessLock } from '../../platform/process-lock.ts';
import { credentials, type Logins } from './login.ts';
import {
  makePrivateFolder,
  mendMode,
  type Notify,
  rehearsePrivateFile,
  removeDrafts,
  writePrivateFile,
} from './private-file.ts';

/** Longer than a refresh takes that another process is in the middle of. */
const LOCK_WAIT_MS = 60_000;

/** credentials.json while this process alone may change it. */
export interface HeldCredentials {
  read(): Promise<Logins>;
  /** Replaces all logins and reads them back. */
  write(logins: Logins): Promise<void>;
  /** Throws when `write` would, and changes nothing. */
  rehearse(): Promise<void>;
}

export interface CredentialsFile {
  readonly path: string;
  /** The logins as they are now. Needs no lock: the file is only ever replaced whole. */
  read(): Promise<Logins>;
  /** Runs `work` while no other process changes the file. */
  locked<Value>(work: (held: HeldCredentials) => Promise<Value>): Promise<Value>;
}

/**
 * credentials.json of a configuration folder (decisions 7). Everything throws
 * CREDENTIAL_STORAGE_UNAVAILABLE when the file is invalid (nothing is overwritten then), cannot be read
 * or cannot be written.
 */
export function openCredentialsFile(folder: string, notify: Notify): CredentialsFile {
  const path = join(folder, 'credentials.json');
  const read = async () => {
    const text = await readText(path);
    if (text === null) return {};
    await mendMode(folder, 0o700, notify);
    await mendMode(path, 0o600, notify);
    return parse(text, path);
  };
  const held: HeldCredentials = {
    read,
    async write(logins) {
      const text = format(logins);
      await attempt(path, () => writePrivateFile(path, text));
      if ((await readText(path)) === text) return;
      throw unavailable(`${path} does not hold what was written to it`);
    },
    rehearse: async () => {
      const text = format(await read());
      await attempt(path, () => rehearsePrivateFile(path, text));
    },
  };
  return {
    path,
    read,
    async locked(work) {
      await attempt(folder, () => makePrivateFolder(folder));
      await mendMode(folder, 0o700, notify);
      const lock = await takeProcessLock(join(folder, 'credentials.lock'), LOCK_WAIT_MS);
      if (!lock.held) {
        throw unavailable(
          lock.busy
            ? `${path} is being changed by another process; try again when it has ended`
            : `${path} cannot be locked: ${lock.reason}`,
        );
      }
      try {
        await attempt(folder, () => removeDrafts(path));
        return await work(held);
      } finally {
        await lock.release();
      }
    },
  };
}

function format(logins: Logins): string {
  return `${JSON.stringify({ version: 1, logins }, null, 2)}\n`;
}

/** spec 3, Errors: invalid credentials.json. The parser's words are left out: they may repeat a secret. */
function parse(text: string, path: string): Logins {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid(path);
  }
  const parsed = credentials.safeParse(value);
  if (!parsed.success) throw invalid(path);
  return parsed.data.logins;
}

function invalid(path: string): AppError {
  return unavailable(`${path} is not valid: move it away and log in again`);
}

async function readText(path: string): Promise<string | null> {
  return attempt(path, async () => {
    try {
      return await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw error;
    }
  });
}

async function attempt<Value>(path: string, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw unavailable(`${path} cannot be used (${(error as NodeJS.ErrnoException).code})`, error);
  }
}

function unavailable(message: string, cause?: unknown): AppError {
  return new AppError('CREDENTIAL_STORAGE_UNAVAILABLE', message, { cause });
}
