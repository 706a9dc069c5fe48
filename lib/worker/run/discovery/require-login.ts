import { type Database, isDatabaseUnavailable } from '../../../database/database.ts';
import { AppError } from '../../../errors.ts';
import { hasDiscovered } from '../../../records/coverage/has-discovered.ts';
import { findSharedRun } from '../../../records/fleet/members.ts';
import { countSources } from '../../../records/sources/sources.ts';
import type { HostAccess } from '../../logins/host-access.ts';
import { loginCommand } from '../../logins/messages.ts';
import { hasSourceToken } from '../../logins/token-source.ts';

interface RequireOptions {
  db: Database;
  gitHost: Pick<HostAccess, 'config' | 'store'>;
  /** The sources of BACKUP_SOURCES, and the ids of `--source-id`. */
  named: { configured: readonly unknown[]; ids: readonly number[] | null };
}

/**
 * Refuses to start a run if there is no source, no login, and nothing was ever discovered: that is a usage mistake, not a failed backup. If discovery has worked before, the login was lost, and the run must fail so that
 * somebody notices. The same if the database is unreachable, because it may have worked then. Throws UNAUTHORIZED.
 */
export async function requireLogin(
  { db, gitHost, named }: RequireOptions,
  isShared: boolean,
): Promise<void> {
  if (named.ids !== null || named.configured.length > 0) return;
  if ((await hasSourceToken(gitHost)) || (await isNeeded(db, isShared))) return;
  throw new AppError(
    'UNAUTHORIZED',
    `no run: say what to back up with --source, or with \`npm run worker -- sources add\`, or log in to the git host to back up everything on it: ${loginCommand('github:source')}, or set GIT_TOKEN_PERSONAL or GIT_TOKEN_PRIVATE`,
  );
}

async function isNeeded(db: Database, isShared: boolean): Promise<boolean> {
  try {
    // A worker that joins a run backs up what the starter has listed, which may need no login.
    if (isShared && (await findSharedRun(db)) !== null) return true;
    return (await countSources(db)) > 0 || (await hasDiscovered(db));
  } catch (error) {
    if (!isDatabaseUnavailable(error)) throw error;
    return true;
  }
}
