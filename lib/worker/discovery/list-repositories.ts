import { RequestError } from '@octokit/request-error';
import * as z from 'zod';
import type { GitHostConfig } from '../../config/git-host.ts';
import { AppError } from '../../errors.ts';
import { cleanText } from '../../text/clean-text.ts';
import { listInstallations } from '../git-host/account.ts';
import type { GitHostClient } from '../git-host/client.ts';
import { listPages } from '../git-host/list-pages.ts';
import type { SourceUse } from '../logins/token-source.ts';
import { hostRepository, type ListedRepository } from './host-repository.ts';

/** The repositories found, and warnings. */
export interface Listing {
  repositories: ListedRepository[];
  warnings: string[];
  /** Accounts on which the app is installed but may read nothing. */
  suspended: string[];
}

/**
 * The git host lists no repository at all. It is taken for a mistake and not for a deletion of everything, so the run
 * fails.
 */
export class NothingListed extends AppError {
  constructor(message: string) {
    super('NOT_FOUND', message);
  }
}

const repositoryList = z.array(hostRepository);
const installationPage = z.object({ repositories: repositoryList });
const accountType = z.object({ type: z.string() });

const hint = 'install it on each account to back up, or set GIT_DISCOVERY=accounts';

/**
 * The repositories of every account that the app is installed on (GIT_DISCOVERY auto). Throws NothingListed if
 * there is none; also RequestError, ZodError.
 */
export async function listByInstallations(client: GitHostClient): Promise<Listing> {
  const installations = await listInstallations(client);
  if (installations.length === 0) {
    throw new NothingListed(`the app is not installed on any accessible account: ${hint}`);
  }
  if (installations.every(({ isSuspended }) => isSuspended)) {
    throw new NothingListed(
      'the app is suspended on all accounts on which it is installed: unsuspend it there, or set GIT_DISCOVERY=accounts',
    );
  }
  const listing: Listing = { repositories: [], warnings: [], suspended: [] };
  for (const { id, account, isSuspended } of installations) {
    if (isSuspended) {
      listing.suspended.push(cleanText(account, 100));
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
  throw new NothingListed(
    'the app is installed but cannot reach any repository: choose repositories in its settings, or set GIT_DISCOVERY=accounts',
  );
}

/**
 * The repositories of ORG_ACCOUNT and PROJECT_ACCOUNT and all visible private ones (GIT_DISCOVERY
 * accounts). Throws NothingListed if there is none, NOT_FOUND if an account does not exist.
 */
export async function listByAccounts(
  clientFor: (use: SourceUse) => GitHostClient,
  { ORG_ACCOUNT, PROJECT_ACCOUNT }: Pick<GitHostConfig, 'ORG_ACCOUNT' | 'PROJECT_ACCOUNT'>,
): Promise<Listing> {
  const listing: Listing = { repositories: [], warnings: [], suspended: [] };
  // First, so that private repositories are read with a token that can see them.
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
  throw new NothingListed(
    'discovery by accounts found no repositories: set ORG_ACCOUNT or PROJECT_ACCOUNT to an account that has some',
  );
}

/** The route that lists an account's own repositories, which differs for organizations and users. */
async function accountList(client: GitHostClient, account: string, variable: string) {
  try {
    const { data } = await client.request('GET /users/{account}', { account });
    const isOrganization = accountType.parse(data).type === 'Organization';
    return isOrganization
      ? { route: 'GET /orgs/{account}/repos', type: 'all' }
      : { route: 'GET /users/{account}/repos', type: 'owner' };
  } catch (error) {
    if (!(error instanceof RequestError && error.status === 404)) throw error;
    const message = `${variable} is ${account}, which does not exist on the git host`;
    throw new AppError('NOT_FOUND', message);
  }
}

function add(
  { repositories }: Listing,
  found: readonly z.output<typeof hostRepository>[],
  use: SourceUse,
): void {
  for (const repository of found) repositories.push({ ...repository, use });
}
