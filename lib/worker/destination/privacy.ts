import { AppError } from '../../errors.ts';
import { cleanText } from '../../text/clean-text.ts';
import type { HostRepository } from '../discovery/host-repository.ts';
import { lookUpRepository } from '../discovery/look-up.ts';
import { createGitHostClient } from '../git-host/client.ts';
import { explainHostFault } from '../git-host/faults.ts';
import type { HostAccess } from '../host-access.ts';
import { isOn, type PushTarget } from './target.ts';

/**
 * Returns null if the destination is private, else why that is not confirmed. Asks the git host with the
 * destination login, then the source login, then without any; the first that can see the repository
 * decides. A local path is private; a repository on another host is never confirmed.
 */
export async function findPrivacyProblem(
  target: PushTarget,
  access: HostAccess,
): Promise<string | null> {
  const { connection, logins, config, notify } = access;
  if (target.kind === 'local') return null;
  if (!isOn(target, connection.hostUrl)) {
    return `it is not on ${new URL(connection.hostUrl).hostname}, the only host that can be asked`;
  }
  const { repository } = target;
  if (repository === null) return 'its address does not name an owner and a repository';

  const faults: string[] = [];
  // Used if no source login is stored, but never if it cannot be read.
  const substitute = config.GIT_TOKEN_PRIVATE ?? config.GIT_TOKEN_PERSONAL ?? null;
  const readers = [
    { who: 'destination login', read: () => logins.read('github:destination') },
    { who: 'source login', read: async () => (await logins.read('github:source')) ?? substitute },
    { who: 'nobody', read: async () => null },
  ];
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

function judge(found: HostRepository, asked: string): string | null {
  if (found.full_name.toLowerCase() !== asked.toLowerCase()) {
    // Whoever takes over the old name would get what is pushed there.
    return `it was renamed to ${cleanText(found.full_name, 250)}: set BACKUP_REPO_PATH to that`;
  }
  // The API calls an internal repository private too.
  if (found.visibility === 'internal') return 'it is internal: its whole enterprise can read it';
  return found.private ? null : 'it is public';
}
