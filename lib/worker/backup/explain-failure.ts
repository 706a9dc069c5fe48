import { AppError, messageOf } from '../../errors.ts';
import { isSystemError, NotAFile } from '../../files.ts';
import { createGit, GitError, type GitFault } from '../../git/git.ts';
import { classifyFault } from '../base/git-faults.ts';
import type { Source } from '../base/source.ts';
import { describeRefusedLogin, RunStopped } from '../base/stop.ts';
import { explainHostError, isLoginRefused } from '../hosts/errors.ts';
import { readRemoteRefs } from '../mirror/refs.ts';
import type { BackupContext } from './backup.ts';
import { DiskFull } from './disk-room.ts';
import { type Failure, failure } from './outcome.ts';

/**
 * Says why an attempt failed. `wasRead`: whether the source was ever read, else it may be no repository. Throws what
 * stops the run.
 */
export async function explainFailure(
  context: BackupContext,
  source: Source,
  error: unknown,
  wasRead: boolean,
): Promise<Failure> {
  const { signal, log, hostName } = context;
  signal.throwIfAborted();
  if (error instanceof AppError || error instanceof RunStopped) throw error;
  // What fails because this worker lost the archives is left to other workers.
  await context.checkLease();
  const failed = async (made: Failure, fault?: GitFault): Promise<Failure> =>
    wasRead || (fault !== 'stalled' && (await canBeRead(context, source, made)))
      ? made
      : { ...made, isUnread: source.host === null };
  if (error instanceof GitError) {
    return failed(await explainGitError(context, source, error), error.fault);
  }
  if (hostName !== null && isMachineFault(error, context)) {
    throw new RunStopped(`this machine cannot continue: ${error.message}`, { cause: error });
  }
  if (error instanceof DiskFull || error instanceof NotAFile) return failure(error.message);
  if (isSystemError(error)) return failed(failure(error.message));
  log.error('a repository could not be backed up', { repository: source.name, error });
  return failure(messageOf(error));
}

/** git's message and, for a discovered repository, the reason reported by the git host. */
async function explainGitError(
  { signal, log, hostName }: BackupContext,
  { host, name }: Source,
  { message, fault: gitFault }: GitError,
): Promise<Failure> {
  const fault = classifyFault(message, gitFault);
  // The host's API is no help while the host is overloaded or unreachable.
  if (host === null || fault.isTransient) return failure(message, fault);
  try {
    const reason = await host.explain();
    return reason === null ? failure(message, fault) : failure(`${reason}; git said: ${message}`);
  } catch (error) {
    signal.throwIfAborted();
    // Every other repository would fail in the same way, and each result would say so.
    if (hostName !== null && isLoginRefused(error)) throw describeRefusedLogin(host.url, error);
    const why = explainHostError(error, host.url).message;
    log.warn('the git host gave no reason why a repository failed', { repository: name, why });
    return failure(message, fault);
  }
}

/**
 * Whether a source is a repository, although its backup failed. What the git host lists is one. If the network failed,
 * asking again would only take as long again.
 */
async function canBeRead(
  { environment, signal, mirrorFolder }: BackupContext,
  source: Source,
  { fault }: Failure,
): Promise<boolean> {
  if (source.host !== null) return true;
  if (fault.isTransient) return false;
  try {
    const git = createGit(environment, signal);
    await readRemoteRefs({ git, source, mirrorFolder }, null);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof GitError) return false;
    throw error;
  }
}

const mountFaults = new Set(['EROFS', 'EACCES', 'EPERM', 'EIO', 'ESTALE', 'ENODEV', 'ENOTCONN']);

/** Whether this machine cannot use the folders that all repositories need. */
function isMachineFault(
  error: unknown,
  { archiveFolder, mirrorFolder }: Pick<BackupContext, 'archiveFolder' | 'mirrorFolder'>,
): error is Error {
  if (!isSystemError(error) || !mountFaults.has(error.code ?? '')) return false;
  const { path = '' } = error;
  return [archiveFolder, mirrorFolder].some((folder) => path.startsWith(folder));
}
