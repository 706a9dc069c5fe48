import { join } from 'node:path';
import { parseJson } from '../../json.ts';
import { takeProcessLock } from '../../processes/process-lock.ts';
import { credentials, type Logins } from './login.ts';
import { type Notify, openPrivateFile, storageUnavailable } from './private-file.ts';

/** Longer than another process takes to refresh a token. */
const LOCK_WAIT_MS = 60_000;

/** credentials.json while this process holds its lock. */
export interface HeldCredentials {
  read(): Promise<Logins>;
  /** Replaces all logins and reads them back. */
  write(logins: Logins): Promise<void>;
  /** Throws if `write` would fail, and changes nothing. */
  rehearse(): Promise<void>;
}

export interface CredentialsFile {
  readonly path: string;
  /** The current logins. Needs no lock, since the file is always replaced as a whole. */
  read(): Promise<Logins>;
  /** Runs `work` while holding the lock. */
  locked<Value>(work: (held: HeldCredentials) => Promise<Value>): Promise<Value>;
}

/**
 * Opens credentials.json of a configuration folder. Every call throws CREDENTIAL_STORAGE_UNAVAILABLE if the
 * file is invalid (then it is never overwritten), or cannot be read or written.
 */
export function openCredentialsFile(folder: string, notify: Notify): CredentialsFile {
  const path = join(folder, 'credentials.json');
  const file = openPrivateFile(path, notify);
  const read = async (): Promise<Logins> => {
    const text = await file.read();
    if (text === null) return {};
    // Without the parser's message, which may repeat a secret.
    const { success, data } = credentials.safeParse(parseJson(text));
    if (success) return data.logins;
    throw storageUnavailable(`${path} is not valid: move it away and log in again`);
  };
  const held: HeldCredentials = {
    read,
    async write(logins) {
      const text = format(logins);
      await file.write(text);
      if ((await file.read()) === text) return;
      throw storageUnavailable(`${path} does not contain what was written to it`);
    },
    rehearse: async () => file.rehearse(format(await read())),
  };
  return {
    path,
    read,
    async locked(work) {
      await file.createFolder();
      const lock = await takeProcessLock(join(folder, 'credentials.lock'), LOCK_WAIT_MS);
      if (!lock.held) {
        throw storageUnavailable(
          lock.busy
            ? `another process is changing ${path}; try again when it has ended`
            : `${path} cannot be locked: ${lock.reason}`,
        );
      }
      try {
        await file.removeDrafts();
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
