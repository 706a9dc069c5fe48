import { open, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { syncFile, syncHandle } from '../../../durable-files.ts';
import { AppError } from '../../../errors.ts';
import { isSystemError } from '../../../files.ts';
import type { WorkerOptions } from '../../base/command-context.ts';
import type { MakeIdentityCommand } from './store-commands.ts';

/**
 * Writes a new age identity to a file that only its owner can read, and prints its recipient. Returns the exit code.
 * Throws CONFLICT if the file exists, and BAD_REQUEST if it cannot be written.
 */
export async function makeIdentity(
  { folder, clock, io }: Pick<WorkerOptions, 'folder' | 'clock' | 'io'>,
  { file }: MakeIdentityCommand,
): Promise<number> {
  const identity = await generateX25519Identity();
  const recipient = await identityToRecipient(identity);
  const created = new Date(clock.now()).toISOString().replace(/\.\d+/, '');
  // The same lines as those of age-keygen.
  const text = `# created: ${created}\n# public key: ${recipient}\n${identity}\n`;
  await writeNew(resolve(folder, file), file, text);
  io.stdout.write(`${recipient}\n`);
  io.stderr.write(`${file} has a new age identity, which only you can read. Next:
  1. Let the worker encrypt with its recipient: BACKUP_AGE_RECIPIENTS=${recipient}
  2. Keep ${file} apart from this machine and from the backups, such as in a password manager and on a sheet of paper.
     Without it, nobody can read what is stored from now on.
  3. Try a restore with it, then remove it from this machine: the worker only needs the recipient.
`);
  return 0;
}

async function writeNew(path: string, shown: string, text: string): Promise<void> {
  let isNew = false;
  try {
    const handle = await open(path, 'wx', 0o600);
    isNew = true;
    try {
      await handle.writeFile(text);
      await syncHandle(handle);
    } finally {
      await handle.close();
    }
    // Windows cannot sync folders.
    if (process.platform !== 'win32') await syncFile(dirname(path));
  } catch (error) {
    if (isNew) await rm(path, { force: true });
    if (!isSystemError(error)) throw error;
    if (error.code === 'EEXIST') {
      throw new AppError(
        'CONFLICT',
        `${shown} exists and was not changed: what was encrypted for it may need it. Give another file`,
      );
    }
    throw new AppError('BAD_REQUEST', `${shown} cannot be written (${error.code})`, {
      cause: error,
    });
  }
}
