import { RequestError } from '@octokit/request-error';
import type { GitHostClient } from '../git-host/client.ts';
import { type HostRepository, hostRepository } from './host-repository.ts';

/** What the git host's API says of one repository. */
export type LookUp =
  /** `full_name` is another one when the repository was renamed. */
  | { state: 'there'; repository: HostRepository }
  /** Deleted, or not visible to the token. */
  | { state: 'hidden'; status: number }
  /** Closed by the host (451). */
  | { state: 'disabled' };

/** Asks for a repository by its full name, which is ours. Throws RequestError, ZodError, also for 401. */
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

/** Texts for a repository that cannot be read any more. */
export const accessFaults = {
  disabled: 'the git host has disabled this repository (451)',
  hidden: (status: number) =>
    `access lost: the git host answers ${status} (deleted, or no longer visible to this login)`,
  unlisted: 'access lost: the repository is there, but no longer among those that discovery finds',
  renamed: (to: string) => `the repository was renamed to ${to}`,
};
