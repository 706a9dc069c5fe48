import { RequestError } from '@octokit/request-error';
import { cleanText } from '../../text/clean-text.ts';
import type { GitHostClient } from './client.ts';
import { type HostRepository, hostRepository } from './host-repository.ts';

export const DISABLED = 'the git host has disabled this repository (451)';

/** What the git host's API reports about a repository. */
export type LookUp =
  /** `full_name` differs if the repository was renamed. */
  | { state: 'there'; repository: HostRepository }
  /** Deleted, or not visible to the token. */
  | { state: 'hidden'; status: number }
  /** Disabled by the host (451). */
  | { state: 'disabled' };

/** Looks up a repository. Throws RequestError, also for 401, and ZodError. */
export async function lookUpRepository(client: GitHostClient, fullName: string): Promise<LookUp> {
  const [owner = '', repo = ''] = fullName.split('/');
  try {
    const { data } = await client.request('GET /repos/{owner}/{repo}', { owner, repo });
    return { state: 'there', repository: hostRepository.parse(data) };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    if (error.status === 451) return { state: 'disabled' };
    if (error.status !== 404 && error.status !== 403) throw error;
    return { state: 'hidden', status: error.status };
  }
}

/** Why a repository can no longer be read under its name; null if it can. */
export function describeAccess(found: LookUp, fullName: string): string | null {
  if (found.state === 'disabled') return DISABLED;
  if (found.state === 'hidden') {
    return `access lost: the git host answers ${found.status} (deleted, or no longer visible to this login)`;
  }
  const name = found.repository.full_name;
  if (name.toLowerCase() === fullName.toLowerCase()) return null;
  return `the repository was renamed to ${cleanText(name, 250)}`;
}
