import { AppError } from '../../../errors.ts';
import { cleanText } from '../../../text/clean-text.ts';
import type { Source } from '../../base/source.ts';
import { createGitHostClient } from '../../hosts/client.ts';
import { explainHostError } from '../../hosts/errors.ts';
import type { HostRepository } from '../../hosts/host-repository.ts';
import { lookUpRepository } from '../../hosts/look-up.ts';
import type { HostAccess } from '../../logins/host-access.ts';
import { isOn, type PushTarget } from './target.ts';

/**
 * Returns null if the destination is private, else why that is not confirmed. Queries the git host with the
 * destination login, the source login, and no login; the first that can see the repository decides. A local
 * path is private; a repository on another host is never confirmed.
 */
async function findPrivacyProblem(target: PushTarget, access: HostAccess): Promise<string | null> {
  const { connection, logins, config, notify } = access;
  if (target.kind === 'local') return null;
  if (!isOn(target, connection.hostUrl)) {
    return `it is not on ${new URL(connection.hostUrl).hostname}, the only host whose API can tell`;
  }
  const { repository } = target;
  if (repository === null) return 'its address does not name an owner and a repository';

  const problems: string[] = [];
  // Used if no source login is stored, but never if the stored one cannot be read.
  const substitute = config.GIT_TOKEN_PRIVATE ?? config.GIT_TOKEN_PERSONAL ?? null;
  const readers = [
    { who: 'destination login', read: () => logins.read('github:destination') },
    { who: 'source login', read: async () => (await logins.read('github:source')) ?? substitute },
    { who: 'no login', read: async () => null },
  ];
  for (const { who, read } of readers) {
    try {
      const token = await read();
      if (token === null && who !== 'no login') continue;
      const client = createGitHostClient({ connection, token: async () => token, notify });
      const found = await lookUpRepository(client, repository);
      if (found.state === 'there') return judge(found.repository, repository);
      problems.push(`${who}: ${found.state === 'disabled' ? 451 : found.status}`);
    } catch (error) {
      connection.signal.throwIfAborted();
      const { message } =
        error instanceof AppError ? error : explainHostError(error, connection.apiUrl);
      problems.push(`${who}: ${message}`);
    }
  }
  return `the git host does not show it (${problems.join('; ')})`;
}

/** How long the result of a privacy check is valid. */
const PRIVACY_CHECK_MS = 60_000;

/** Checks repeatedly, because a destination may become public during a long run. Returns like `findPrivacyProblem`. */
export function createPrivacyCheck(
  target: PushTarget,
  access: HostAccess,
): () => Promise<string | null> {
  const { clock } = access.connection;
  let checked: { problem: string | null; at: number } | null = null;
  return async () => {
    const now = clock.now();
    if (checked === null || now - checked.at > PRIVACY_CHECK_MS) {
      checked = { problem: await findPrivacyProblem(target, access), at: now };
    }
    return checked.problem;
  };
}

/** Why a source must not be pushed; null if it may be. A source that is not known to be public counts as private. */
export async function findPrivateProblem(
  source: Pick<Source, 'host'>,
  check: () => Promise<string | null>,
): Promise<string | null> {
  if (source.host?.isPrivate === false) return null;
  const problem = await check();
  if (problem === null) return null;
  const what = source.host === null ? 'the repository may be private' : 'the repository is private';
  return `${what}, and the destination is not confirmed private: ${problem}`;
}

function judge(found: HostRepository, asked: string): string | null {
  if (found.full_name.toLowerCase() !== asked.toLowerCase()) {
    // Pushes to the old name would reach its next owner.
    return `it was renamed to ${cleanText(found.full_name, 250)}: set BACKUP_REPO_PATH to that`;
  }
  // The API reports internal repositories as private, too.
  if (found.visibility === 'internal') return 'it is internal: its whole enterprise can read it';
  return found.private ? null : 'it is public';
}
