import { archiveKey } from '../../../archives/base/archive-name.ts';
import type { Environment } from '../../../config/read.ts';
import type { Lack } from '../../../durable-files.ts';
import { AppError, messageOf } from '../../../errors.ts';
import { isSystemError } from '../../../files.ts';
import { createGit, GitError, type GitFault } from '../../../git/git.ts';
import { gitSettings } from '../../../git/git-credential.ts';
import type { Progress } from '../../../git/progress.ts';
import { newAnomaly } from '../../../records/anomalies/new-anomaly.ts';
import { type RepoState, readRepoState } from '../../../records/recording/repo-state.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { counted } from '../../../text/units.ts';
import { archiveBytes, readArchiveRecord } from '../../archive/archive.ts';
import { HOLD_ALL, type Hold } from '../../archive/retention.ts';
import type { Failure, Outcome } from '../../backup/outcome.ts';
import { backUpRepository } from '../../backup/repository.ts';
import { classifyFault, type Fault } from '../../base/git-faults.ts';
import type { Source } from '../../base/source.ts';
import { describeRefusedLogin, RunStopped } from '../../base/stop.ts';
import { explainHostError, isLoginRefused } from '../../hosts/errors.ts';
import { readRemoteRefs } from '../../mirror/refs.ts';
import { type DeliveryContext, deliver, type Waiting } from './deliver.ts';
import { DiskFull, type DiskRoom, neededBytes } from './disk-room.ts';
import { reconcileVersions } from './reconcile-versions.ts';
import type { RunContext } from './run-deps.ts';

/** What an attempt to back up one repository needs. */
export interface AttemptContext
  extends Omit<RunContext, 'incrementsFromBytes'>,
    Omit<DeliveryContext, 'journal'> {
  /** Null if the run has no number yet. */
  runId: number | null;
  incrementsFromBytes: number;
  /** What the file system of the mirrors lacks. */
  mirrorLacks: readonly Lack[];
  room: DiskRoom;
}

/** A repository in a run, with the state that its attempts share. */
export interface Job {
  source: Source;
  /** How many attempts were made. */
  tries: number;
  /** Milliseconds that the attempts took, without the pauses between them. */
  durationMs: number;
  /** SHA-256 of the archive that an earlier attempt of this run published; null if none did. */
  publishedSha256: string | null;
  /** Whether its archive was found damaged. */
  isDamaged: boolean;
  /** A fault of its archive that no backup can repair; null if there is none. */
  altered: string | null;
}

/** Shows a step, or git's own progress. */
type Show = (doing: string | Progress) => void;

/**
 * Tries to back up a repository once. A failure of the repository is an outcome; a failure to push is known only when
 * the waiting archives are pushed together. Throws only what stops the run: the signal's reason, an unavailable
 * database, or a login that the user must renew.
 */
export async function attempt(
  context: AttemptContext,
  job: Job,
  show: Show,
): Promise<Outcome | Waiting> {
  const { log, journal, signal } = context;
  const { store } = journal;
  const { source } = job;
  if (source.host?.fault) return failure(source.host.fault);
  const key = archiveKey(source.name);
  const state = await store.read(
    (db) => readRepoState(db, source.name, key),
    () => readNotedState(context.archiveFolder, key),
  );
  if (state.otherOwner !== null) {
    return failure(`the archive ${key} belongs to ${state.otherOwner}`);
  }
  const failed = async (made: Failure, gitFault?: GitFault): Promise<Failure> =>
    state.wasRead || (gitFault !== 'stalled' && (await canBeRead(context, source, made)))
      ? made
      : { ...made, isUnread: source.host === null };
  const reserved: { leave?: () => void } = {};
  try {
    await reconcileVersions(context, { repository: source.name, key }, state);
    const made = await backUpRepository({
      ...context,
      git: createGit(gitEnvironment(context), signal),
      mayClone: !context.mirrorLacks.includes('permissions'),
      source,
      isDamaged: job.isDamaged,
      now: context.time.now,
      checkClock: context.time.check,
      recordedSha256: job.publishedSha256 ?? state.archiveSha256,
      recordedVersions: {
        newest: state.newestVersion ?? 0,
        // What an earlier attempt wrote was not there before the run.
        restorable: job.publishedSha256 === null ? (state.restorableVersions ?? 0) : 0,
      },
      async onStep(step) {
        show(step);
        if (step !== 'cloning') return;
        await journal.note('info', 'new or changed, fetching', source.name);
        reserved.leave = await reserveRoom(context, source);
      },
      onProgress: show,
      onPublished: async ({ key, record: { archive_sha256: sha256 } }) => {
        await store.write({ type: 'archive', repository: source.name, key, sha256 });
        job.publishedSha256 = sha256;
      },
      hold: holdOf(state),
      onEmptied: async (version, refCount) => {
        const anomaly = newAnomaly('emptied', [['refs', `${refCount}`, '0']]);
        await store.write({ type: 'anomaly', repository: source.name, version, anomaly });
      },
      async onVersion(facts) {
        await store.write({ type: 'version', repository: source.name, facts });
      },
      onPruned: async (versions) => {
        await store.write({ type: 'pruned', repository: source.name, versions });
        const count = counted(versions.length, 'version');
        await journal.note('info', `${count} no longer kept, as BACKUP_KEEP says`, source.name);
      },
      onRemark: (level, text) => journal.note(level, text, source.name),
    });
    // What an earlier attempt of this run archived no longer looks new.
    const isNew = made.status === 'unchanged' && job.publishedSha256 !== null;
    const outcome = isNew ? { ...made, status: 'completed' as const } : made;
    const hasFailed = state.hasFailed ?? false;
    const delivered = await deliver(context, source, outcome, { show, hasFailed });
    const { altered } = job;
    if (altered === null) return delivered;
    const damaged = failure(`the archive is damaged: ${altered}`);
    if (delivered.status !== 'waiting') return damaged;
    const conclude = async () => {
      await delivered.conclude();
      return damaged;
    };
    return { status: 'waiting', conclude };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError || error instanceof RunStopped) throw error;
    // What fails because this worker lost the archives is left to other workers.
    await context.checkLease();
    if (error instanceof GitError)
      return failed(await explain(context, source, error), error.fault);
    if (context.hostName !== null && isMachineFault(error, context)) {
      throw new RunStopped(`this machine cannot continue: ${error.message}`, { cause: error });
    }
    if (error instanceof DiskFull) return failure(error.message);
    if (isSystemError(error)) return failed(failure(error.message));
    log.error('a repository could not be backed up', { repository: source.name, error });
    return failure(messageOf(error));
  } finally {
    reserved.leave?.();
  }
}

/** git ends with an error where it cannot flush files. */
function gitEnvironment({ environment, mirrorLacks }: AttemptContext): Environment {
  if (!mirrorLacks.includes('fsync')) return environment;
  return { ...environment, ...gitSettings(environment, [['core.fsync', 'none']]) };
}

/** Without the database, confirmations are unknown. */
function holdOf({ confirmed, hasMissing }: RepoState): Hold {
  if (confirmed === undefined) return HOLD_ALL;
  const text = 'many repositories were missing at once, and nobody has confirmed that';
  return { all: hasMissing === true ? text : null, confirmed };
}

/** Without the database, the note beside the archive decides whether a repository is unchanged. */
async function readNotedState(archiveFolder: string, key: string): Promise<RepoState> {
  const record = await readArchiveRecord(archiveFolder, key);
  return {
    ...{ archiveSha256: record?.archive_sha256 ?? null, otherOwner: null },
    wasRead: record !== null,
  };
}

/** Reserves the disk space that fetching a repository needs. Throws DiskFull. */
async function reserveRoom(
  { room, archiveFolder }: AttemptContext,
  { name, host }: Source,
): Promise<() => void> {
  const sizeBytes = host?.sizeBytes ?? null;
  const archived = await readArchiveRecord(archiveFolder, archiveKey(name));
  return room.reserve(neededBytes(sizeBytes, archived === null ? 0 : archiveBytes(archived)));
}

/** git's message and, for a discovered repository, the reason reported by the git host. */
async function explain(
  { signal, log, hostName }: AttemptContext,
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
  { environment, signal, mirrorFolder }: AttemptContext,
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

/** A failure; by default one that a retry in this run would not fix. */
function failure(text: string, fault?: Fault): Failure {
  const lasting = { ...classifyFault(text), isTransient: false, isOverload: false };
  return {
    status: 'failed',
    errorMessage: cleanText(text),
    archive: null,
    fault: fault ?? lasting,
  };
}

const mountFaults = new Set(['EROFS', 'EACCES', 'EPERM', 'EIO', 'ESTALE', 'ENODEV', 'ENOTCONN']);

/** Whether this machine cannot use the folders that all repositories need. */
function isMachineFault(
  error: unknown,
  { archiveFolder, mirrorFolder }: Pick<AttemptContext, 'archiveFolder' | 'mirrorFolder'>,
): error is Error {
  if (!isSystemError(error) || !mountFaults.has(error.code ?? '')) return false;
  const { path = '' } = error;
  return [archiveFolder, mirrorFolder].some((folder) => path.startsWith(folder));
}
