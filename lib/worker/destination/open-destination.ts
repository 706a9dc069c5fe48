import { join } from 'node:path';
import pLimit from 'p-limit';
import type { Clock } from '../../clock.ts';
import type { Environment } from '../../config/read.ts';
import { AppError } from '../../errors.ts';
import { createGit, GitError } from '../../git/git.ts';
import type { GitCredential } from '../../git/git-credential.ts';
import { makeScratch, removeScratch } from '../../processes/scratch.ts';
import { formatBytes } from '../../text/units.ts';
import type { ArchiveRecord, KeptArchive } from '../archive/archive.ts';
import type { HostAccess } from '../host-access.ts';
import { loginCommand } from '../logins/messages.ts';
import type { Source } from '../source.ts';
import { type DestinationFigures, measureDestination } from './measure.ts';
import { findPrivacyProblem } from './privacy.ts';
import { openPushClone, type PushClone } from './push-clone.ts';
import { isOn, type PushTarget } from './target.ts';

/** The outcome of delivering an archive. */
export type Delivery =
  | { status: 'pushed' }
  /** The destination already had it. */
  | { status: 'there' }
  | { status: 'failed' | 'too_large'; reason: string };

/** Where a run's archives are pushed. */
export interface Destination {
  /** Throws file system errors, or the signal's reason. */
  deliver(source: Source, archive: KeptArchive): Promise<Delivery>;
  /** The current figures of the destination. Throws like `deliver`, and GitError. */
  measure(): Promise<DestinationFigures>;
  /** Removes temporary files. */
  close(): Promise<void>;
}

export interface DestinationOptions {
  target: PushTarget;
  access: HostAccess;
  environment: Environment;
  clock: Clock;
  signal: AbortSignal;
  archiveFolder: string;
}

/** The largest file that git hosts accept. */
const MAX_FILE_BYTES = 100 * 2 ** 20;
/** How long the result of a privacy check is valid. */
const PRIVACY_CHECK_MS = 60_000;
/** After this many failures, later repositories do not wait for the destination. */
const MAX_OPENINGS = 3;

const identity = {
  GIT_AUTHOR_NAME: 'Backup Observatory',
  GIT_AUTHOR_EMAIL: 'backup-observatory@localhost',
  GIT_COMMITTER_NAME: 'Backup Observatory',
  GIT_COMMITTER_EMAIL: 'backup-observatory@localhost',
};

/** The files of an archive in the order in which they must arrive, so that each has what it continues. */
function listFiles(key: string, { archive_size_bytes, archive_blob, increments }: ArchiveRecord) {
  return [
    { name: key, sizeBytes: archive_size_bytes, blob: archive_blob },
    ...increments.map(({ name, size_bytes, blob = null }) => ({
      name,
      sizeBytes: size_bytes,
      blob,
    })),
  ];
}

/** Opens the destination of a run. It is contacted with the first delivery. */
export function openDestination(options: DestinationOptions): Destination {
  const { target, access, clock, signal, archiveFolder } = options;
  const git = createGit({ ...options.environment, ...identity }, signal);
  // One after the other: all archives go through one clone.
  const inTurn = pLimit(1);
  let scratch: string | null = null;
  let opened: PushClone | null = null;
  let failure: { error: GitError; count: number } | null = null;
  let checked: { problem: string | null; at: number } | null = null;

  /**
   * The destination login, if the target is on its host. No other host may see it. If it fails, only the push
   * fails, not the backup.
   */
  async function credential(): Promise<GitCredential | null> {
    const { location, kind } = target;
    if (kind !== 'https' || !isOn(target, access.connection.hostUrl)) return null;
    try {
      const token = await access.logins.read('github:destination');
      return token === null ? null : { location, token };
    } catch (error) {
      throw error instanceof AppError ? new GitError(error.message) : error;
    }
  }

  async function open(): Promise<PushClone> {
    if (opened !== null) return opened;
    if (failure !== null && failure.count >= MAX_OPENINGS) throw failure.error;
    try {
      scratch ??= await makeScratch(archiveFolder);
      const gitDir = join(scratch, `destination-${failure?.count ?? 0}.git`);
      opened = await openPushClone({ git, clock, signal, target, gitDir, credential });
      return opened;
    } catch (error) {
      if (error instanceof GitError) failure = { error, count: (failure?.count ?? 0) + 1 };
      throw error;
    }
  }

  /** Checks repeatedly, because a destination may become public during a long run. */
  async function checkPrivacy(): Promise<string | null> {
    const now = clock.now();
    if (checked === null || now - checked.at > PRIVACY_CHECK_MS) {
      checked = { problem: await findPrivacyProblem(target, access), at: now };
    }
    return checked.problem;
  }

  /** git's own message, about a user name that could not be read, does not help. */
  async function adviseOnLogin(): Promise<string> {
    const { hostUrl } = access.connection;
    if (!isOn(target, hostUrl)) {
      const { hostname } = new URL(hostUrl);
      return `git needs its own credentials there: the destination login is only for ${hostname}`;
    }
    const login = await access.store.find('github:destination');
    const command = loginCommand('github:destination');
    return login === null
      ? `there is no destination login, and git has no credentials of its own (${command})`
      : `the git host does not accept the destination login (log in again: ${command})`;
  }

  async function deliver(source: Source, { key, record }: KeptArchive): Promise<Delivery> {
    const largest = Math.max(...listFiles(key, record).map(({ sizeBytes }) => sizeBytes));
    if (largest > MAX_FILE_BYTES) {
      const limit = `the limit of ${formatBytes(MAX_FILE_BYTES)} for a file`;
      const reason = `the archive of ${formatBytes(largest)} exceeds ${limit}: kept here, not pushed`;
      return { status: 'too_large', reason };
    }
    // A repository that is not known to be public counts as private.
    const isPrivate = source.host?.isPrivate ?? true;
    const problem = isPrivate ? await checkPrivacy() : null;
    if (problem !== null) {
      const what =
        source.host === null ? 'the repository may be private' : 'the repository is private';
      const reason = `not pushed: ${what}, and the destination is not confirmed private: ${problem}`;
      return { status: 'failed', reason };
    }
    try {
      const clone = await open();
      let isNew = false;
      for (const { name, blob } of listFiles(key, record)) {
        if (blob !== null && clone.blobOf(name) === blob) continue;
        const file = join(archiveFolder, name);
        isNew = (await clone.put(name, file, `Back up ${source.name}`)) || isNew;
      }
      return { status: isNew ? 'pushed' : 'there' };
    } catch (error) {
      if (!(error instanceof GitError)) throw error;
      const advice = /could not read Username|Authentication failed/.test(error.message)
        ? `${await adviseOnLogin()}; git said: `
        : '';
      return { status: 'failed', reason: `not pushed: ${advice}${error.message}` };
    }
  }

  return {
    deliver: (source, archive) => inTurn(() => deliver(source, archive)),
    measure: async () => measureDestination({ git, clone: await open(), archiveFolder }),
    async close() {
      if (scratch !== null) await removeScratch(scratch);
    },
  };
}
