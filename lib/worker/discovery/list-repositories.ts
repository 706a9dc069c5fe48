import { RequestError } from '@octokit/request-error';
import { z } from 'zod';
import { cleanText } from '../../platform/clean-text.ts';
import type { GitHostConfig } from '../../platform/config/git-host.ts';
import { AppError } from '../../platform/errors.ts';
import { listInstallations } from '../git-host/account.ts';
import type { GitHostClient } from '../git-host/client.ts';
import { listPages } from '../git-host/pages.ts';
import type { SourceUse } from '../logins/token-source.ts';
import { hostRepository, type ListedRepository } from './host-repository.ts';

/** What was found, and what a person should know of how. */
export interface Listing {
  repositories: ListedRepository[];
  warnings: string[];
}

const repositoryList = z.array(hostRepository);
const installationPage = z.object({ repositories: repositoryList });
const accountType = z.object({ type: z.string() });

const hint = 'install it on each account to back up, or set GIT_DISCOVERY=accounts';

/**
 * The repositories of every account that the app is installed on (GIT_DISCOVERY auto). Throws NOT_FOUND
 * when there is none: never are repositories taken for deleted by it. Throws RequestError, ZodError.
 */
export async function listByInstallations(client: GitHostClient): Promise<Listing> {
  const installations = await listInstallations(client);
  if (installations.length === 0) {
    throw new AppError('NOT_FOUND', `the app is not installed on any accessible account: ${hint}`);
  }
  if (installations.every(({ isSuspended }) => isSuspended)) {
    throw new AppError(
      'NOT_FOUND',
      'the app is suspended on every account that it is installed on: lift that in its settings there, or set GIT_DISCOVERY=accounts',
    );
  }
  const listing: Listing = { repositories: [], warnings: [] };
  for (const { id, account, isSuspended } of installations) {
    if (isSuspended) {
      listing.warnings.push(
        `the app is suspended on ${cleanText(account, 100)}: its repositories cannot be read`,
      );
      continue;
    }
    const route = 'GET /user/installations/{installation_id}/repositories';
    const pages = listPages(client, route, { installation_id: id }, installationPage);
    for await (const { repositories } of pages) add(listing, repositories, 'organization');
  }
  if (listing.repositories.length > 0) return listing;
  throw new AppError(
    'NOT_FOUND',
    'the app is installed but reaches no repository: choose repositories in its settings, or set GIT_DISCOVERY=accounts',
  );
}

/**
 * The repositories of ORG_ACCOUNT and PROJECT_ACCOUNT and the private ones that are visible
 * (GIT_DISCOVERY accounts). Throws NOT_FOUND when there is none, or an account does not exist.
 */
export async function listByAccounts(
  clientFor: (use: SourceUse) => GitHostClient,
  { ORG_ACCOUNT, PROJECT_ACCOUNT }: Pick<GitHostConfig, 'ORG_ACCOUNT' | 'PROJECT_ACCOUNT'>,
): Promise<Listing> {
  const listing: Listing = { repositories: [], warnings: [] };
  // First, so that a private repository is read with the token that is known to see it.
  const visible = { visibility: 'private', affiliation: 'owner,collaborator,organization_member' };
  const ownPages = listPages(clientFor('private'), 'GET /user/repos', visible, repositoryList);
  for await (const repositories of ownPages) add(listing, repositories, 'private');
  const accounts = [
    { variable: 'ORG_ACCOUNT', account: ORG_ACCOUNT, use: 'organization' },
    { variable: 'PROJECT_ACCOUNT', account: PROJECT_ACCOUNT, use: 'project' },
  ] as const;
  for (const { variable, account, use } of accounts) {
    if (account === undefined) continue;
    const client = clientFor(use);
    const { route, type } = await accountList(client, account, variable);
    const pages = listPages(client, route, { account, type }, repositoryList);
    for await (const repositories of pages) add(listing, repositories, use);
  }
  if (listing.repositories.length > 0) return listing;
  throw new AppError(
    'NOT_FOUND',
    'discovery by accounts found no repository: set ORG_ACCOUNT or PROJECT_ACCOUNT to an account that has some',
  );
}

/**
 * An organization's private repositories are in another list than a person's public ones, which would
 * hold those of others too.
 */
async function accountList(client: GitHostClient, account: string, variable: string) {
  try {
    const { data } = await client.request('GET /users/{account}', { account });
    const isOrganization = accountType.parse(data).type === 'Organization';
    return isOrganization
      ? { route: 'GET /orgs/{account}/repos', type: 'all' }
      : { route: 'GET /users/{account}/repos', type: 'owner' };
  } catch (error) {
    if (!(error instanceof RequestError && error.status === 404)) throw error;
    const message = `${variable} names ${account}, which the git host does not know`;
    throw new AppError('NOT_FOUND', message);
  }
}

/** A repository that several lists have is taken from the first. */
function add(
  { repositories }: Listing,
  found: readonly z.output<typeof hostRepository>[],
  use: SourceUse,
): void {
  for (const repository of found) repositories.push({ ...repository, use });
}
