import { lstat, mkdir, open, realpath, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { configFolder, gitHostVariables } from '../../../config/git-host.ts';
import { readConfig } from '../../../config/read.ts';
import { syncFile, syncHandle } from '../../../durable-files.ts';
import { AppError } from '../../../errors.ts';
import { isSystemError, nullIfMissing } from '../../../files.ts';
import { createGit, GitError } from '../../../git/git.ts';
import type { WorkerOptions } from '../../base/command-context.ts';
import type { MakeIdentityCommand } from './store-commands.ts';

/**
 * Writes a new age identity to a file that only its owner can read, and prints its recipient. Returns the exit code.
 * Throws CONFLICT if the file exists, and BAD_REQUEST if it cannot be written, or could be committed with git.
 */
export async function makeIdentity(
  options: Pick<WorkerOptions, 'folder' | 'clock' | 'io' | 'environment' | 'signal'>,
  command: MakeIdentityCommand,
): Promise<number> {
  const { folder, clock, io } = options;
  const kept = keptFolder(options);
  if (command.file === null) await mkdir(kept, { recursive: true, mode: 0o700 });
  const file = command.file ?? join(kept, 'identity.txt');
  await rejectCommittable(options, resolve(folder, file), file);
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

/** Where logins are kept too. */
function keptFolder({ environment }: Pick<WorkerOptions, 'environment'>): string {
  return configFolder(readConfig(gitHostVariables, environment), environment);
}

/** Throws BAD_REQUEST for a file in a working tree of git, unless git ignores it: a private key is easily committed. */
async function rejectCommittable(
  options: Pick<WorkerOptions, 'environment' | 'signal'>,
  path: string,
  shown: string,
): Promise<void> {
  const folder = await nullIfMissing(realpath(dirname(path)));
  if (folder === null) {
    throw new AppError(
      'BAD_REQUEST',
      `there is no folder ${dirname(path)}: create it, or give another file`,
    );
  }
  const tree = await findWorkingTree(folder);
  if (tree === null) return;
  const git = createGit(options.environment, options.signal);
  try {
    await git.read(['-C', folder, 'check-ignore', '--quiet', '--', basename(path)]);
  } catch (error) {
    if (!(error instanceof GitError)) throw error;
    throw new AppError(
      'BAD_REQUEST',
      `${shown} would be in the git repository ${tree}, from where a private key is easily committed: give a file elsewhere, or none for ${join(keptFolder(options), 'identity.txt')}`,
    );
  }
}

/** The repository in whose working tree a folder is; null if there is none. */
async function findWorkingTree(folder: string): Promise<string | null> {
  if ((await nullIfMissing(lstat(join(folder, '.git')))) !== null) return folder;
  const above = dirname(folder);
  return above === folder ? null : findWorkingTree(above);
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
