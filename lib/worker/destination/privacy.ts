import { cleanText } from '../../platform/clean-text.ts';
import { AppError } from '../../platform/errors.ts';
import type { HostRepository } from '../discovery/host-repository.ts';
import { lookUpRepository } from '../discovery/look-up.ts';
import { createGitHostClient } from '../git-host/client.ts';
import { explainHostFault } from '../git-host/faults.ts';
import type { HostAccess } from '../host-access.ts';
import { isOn, type PushTarget } from './target.ts';

/** Null when the destination is private, else why that is not confirmed. */
export type PrivacyDoubt = string | null;

/**
 * Asks the git host whether the destination is private: with the destination login, then the source
 * login, then without any; the first to see it decides (spec 3, HTTPS destination). A path of this
 * machine is private, a repository of another host never confirmed (decisions 7).
 */
export async function doubtPrivacy(target: PushTarget, access: HostAccess): Promise<PrivacyDoubt> {
  const { connection, logins, config, notify } = access;
  if (target.kind === 'local') return null;
  if (!isOn(target, connection.hostUrl)) {
    return `it is not on ${new URL(connection.hostUrl).hostname}, which alone is asked`;
  }
  const { repository } = target;
  if (repository === null) return 'its address does not name an owner and a repository';

  const faults: string[] = [];
  const readers = [
    { who: 'destination login', read: () => logins.read('github:destination') },
    { who: 'source login', read: async () => (await logins.read('github:source')) ?? stand },
    { who: 'nobody', read: async () => null },
  ];
  // Tokens of the environment stand in for a source login that is not stored, never for an unreadable.
  const stand = config.GIT_TOKEN_PRIVATE ?? config.GIT_TOKEN_PERSONAL ?? null;
  for (const { who, read } of readers) {
    try {
      const token = await read();
      if (token === null && who !== 'nobody') continue;
      const client = createGitHostClient({ connection, token: async () => token, notify });
      const found = await lookUpRepository(client, repository);
      if (found.state === 'there') return judge(found.repository, repository);
      faults.push(`${who}: ${found.state === 'disabled' ? 451 : found.status}`);
    } catch (error) {
      connection.signal.throwIfAborted();
      const { message } =
        error instanceof AppError ? error : explainHostFault(error, connection.apiUrl);
      faults.push(`${who}: ${message}`);
    }
  }
  return `the git host does not show it (${faults.join('; ')})`;
}

function judge(found: HostRepository, asked: string): PrivacyDoubt {
  if (found.full_name.toLowerCase() !== asked.toLowerCase()) {
    // Whoever takes the old name over would get what is pushed there.
    return `it was renamed to ${cleanText(found.full_name, 250)}: set BACKUP_REPO_PATH to that`;
  }
  // An internal repository is called private too.
  if (found.visibility === 'internal') return 'it is internal: its whole enterprise can read it';
  return found.private ? null : 'it is public';
}
