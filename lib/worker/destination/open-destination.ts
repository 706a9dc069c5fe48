import { join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import type { Environment } from '../../platform/config/read.ts';
import { AppError } from '../../platform/errors.ts';
import { createGit, GitError } from '../../platform/git.ts';
import type { GitCredential } from '../../platform/git-credential.ts';
import { makeScratch, removeScratch } from '../../platform/scratch.ts';
import { formatBytes } from '../../platform/units.ts';
import type { HostAccess } from '../host-access.ts';
import { loginCommand } from '../logins/messages.ts';
import type { Delivery, Destination } from './destination.ts';
import { measureDestination } from './measure.ts';
import { doubtPrivacy, type PrivacyDoubt } from './privacy.ts';
import { openPushClone, type PushClone } from './push-clone.ts';
import { isOn, type PushTarget } from './target.ts';

export interface DestinationOptions {
  target: PushTarget;
  access: HostAccess;
  environment: Environment;
  clock: Clock;
  signal: AbortSignal;
  archiveFolder: string;
}

/** What git hosts take at most as one file (decisions 7, Destination). */
export const MAX_FILE_BYTES = 100 * 2 ** 20;
/** Whether the destination is private is asked for again after this. */
const ASKED_FOR_MS = 60_000;
/** Further repositories do not wait for a destination that cannot be reached. */
const MOST_OPENINGS = 3;

const identity = {
  GIT_AUTHOR_NAME: 'Backup Observatory',
  GIT_AUTHOR_EMAIL: 'backup-observatory@localhost',
  GIT_COMMITTER_NAME: 'Backup Observatory',
  GIT_COMMITTER_EMAIL: 'backup-observatory@localhost',
};

/** Opens the destination of a run. It is first asked for when there is something to deliver. */
export function openDestination(options: DestinationOptions): Destination {
  const { target, access, clock, signal, archiveFolder } = options;
  const git = createGit({ ...options.environment, ...identity }, signal);
  let scratch: string | null = null;
  let opened: PushClone | null = null;
  let fault: { error: GitError; count: number } | null = null;
  let asked: { doubt: PrivacyDoubt; at: number } | null = null;

  /**
   * The destination login where the target is on its host: another host must not see it. A login that
   * fails is no reason not to make archives: it is one not to push.
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
    if (fault !== null && fault.count >= MOST_OPENINGS) throw fault.error;
    try {
      scratch ??= await makeScratch(archiveFolder);
      const gitDir = join(scratch, `destination-${fault?.count ?? 0}.git`);
      opened = await openPushClone({ git, clock, signal, target, gitDir, credential });
      return opened;
    } catch (error) {
      if (error instanceof GitError) fault = { error, count: (fault?.count ?? 0) + 1 };
      throw error;
    }
  }

  /** Asked again and again: a destination may be made public while a long run is under way. */
  async function doubt(): Promise<PrivacyDoubt> {
    const now = clock.now();
    if (asked === null || now - asked.at > ASKED_FOR_MS) {
      asked = { doubt: await doubtPrivacy(target, access), at: now };
    }
    return asked.doubt;
  }

  /** What git says then is about a user name that nobody would type. */
  async function adviseOnLogin(): Promise<string> {
    const { hostUrl } = access.connection;
    if (!isOn(target, hostUrl)) {
      const { hostname } = new URL(hostUrl);
      return `git needs credentials of its own there: the destination login is for ${hostname} alone`;
    }
    const login = await access.store.find('github:destination');
    const command = loginCommand('github:destination');
    return login === null
      ? `there is no destination login, and git has no credentials of its own (${command})`
      : `the git host does not accept the destination login (log in again: ${command})`;
  }

  return {
    async deliver(source, { key, record }): Promise<Delivery> {
      const size = record.archive_size_bytes;
      if (size > MAX_FILE_BYTES) {
        const limit = `the limit of ${formatBytes(MAX_FILE_BYTES)} for a file`;
        const reason = `the archive of ${formatBytes(size)} is above ${limit}: kept here, not pushed`;
        return { status: 'too_large', reason };
      }
      // What nobody says is public is private.
      const isPrivate = source.host?.isPrivate ?? true;
      const why = isPrivate ? await doubt() : null;
      if (why !== null) {
        const what =
          source.host === null ? 'the repository may be private' : 'the repository is private';
        const reason = `not pushed: ${what}, and the destination is not confirmed private: ${why}`;
        return { status: 'failed', reason };
      }
      try {
        const clone = await open();
        if (record.archive_blob !== null && clone.blobOf(key) === record.archive_blob) {
          return { status: 'there' };
        }
        const file = join(archiveFolder, key);
        const isNew = await clone.put(key, file, `Back up ${source.name}`);
        return { status: isNew ? 'pushed' : 'there' };
      } catch (error) {
        if (!(error instanceof GitError)) throw error;
        const advice = /could not read Username|Authentication failed/.test(error.message)
          ? `${await adviseOnLogin()}; git said: `
          : '';
        return { status: 'failed', reason: `not pushed: ${advice}${error.message}` };
      }
    },
    measure: async () => measureDestination({ git, clone: await open(), archiveFolder }),
    async close() {
      if (scratch !== null) await removeScratch(scratch);
    },
  };
}
