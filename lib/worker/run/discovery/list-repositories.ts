import { RequestError } from '@octokit/request-error';
import * as z from 'zod';
import type { GitHostConfig } from '../../../config/git-host.ts';
import { AppError } from '../../../errors.ts';
import type { SeenRepository } from '../../../records/recording/plans.ts';
import { cleanText } from '../../../text/clean-text.ts';
import type { SourceUse } from '../../base/source.ts';
import { listInstallations } from '../../hosts/account.ts';
import type { GitHostClient } from '../../hosts/client.ts';
import { hostRepository, type ListedRepository } from '../../hosts/host-repository.ts';
import { listPages } from '../../hosts/list-pages.ts';

/** The repositories that were found, and notes about those that were left out. */
export interface RepositoryListing {
  repositories: ListedRepository[];
  notes: { level: 'info' | 'warn'; text: string }[];
  /** Accounts whose repositories cannot be listed. */
  unread: Omit<SeenRepository, 'facts'>[];
}

type Accounts = Pick<GitHostConfig, 'ORG_ACCOUNT' | 'PROJECT_ACCOUNT'>;

/**
 * The git host lists no repository at all. This is more likely a mistake than the deletion of everything, so the run
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
export async function listByInstallations(
  client: GitHostClient,
  { ORG_ACCOUNT, PROJECT_ACCOUNT }: Accounts,
): Promise<RepositoryListing> {
  const installations = await listInstallations(client);
  if (installations.length === 0) {
    throw new NothingListed(`the app is not installed on any accessible account: ${hint}`);
  }
  if (installations.every(({ isSuspended }) => isSuspended)) {
    throw new NothingListed(
      'the app is suspended on all accounts on which it is installed: unsuspend it there, or set GIT_DISCOVERY=accounts',
    );
  }
  const listing: RepositoryListing = { repositories: [], notes: [], unread: [] };
  for (const { id, account, selection, isSuspended } of installations) {
    const name = cleanText(account, 100);
    if (isSuspended) {
      leaveOut(listing, name, 'suspended');
      continue;
    }
    if (selection === 'selected') {
      const text = `the app can see only the selected repositories of ${name}`;
      listing.notes.push({ level: 'info', text });
    }
    const route = 'GET /user/installations/{installation_id}/repositories';
    const pages = listPages(client, route, { installation_id: id }, installationPage);
    for await (const { repositories } of pages) add(listing, repositories, 'organization');
  }
  const installed = new Set(installations.map(({ account }) => account.toLowerCase()));
  for (const account of [ORG_ACCOUNT, PROJECT_ACCOUNT]) {
    if (account === undefined || installed.has(account.toLowerCase())) continue;
    installed.add(account.toLowerCase());
    leaveOut(listing, account, 'not_installed');
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
  { ORG_ACCOUNT, PROJECT_ACCOUNT }: Accounts,
): Promise<RepositoryListing> {
  const listing: RepositoryListing = { repositories: [], notes: [], unread: [] };
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

function leaveOut(
  { notes, unread }: RepositoryListing,
  account: string,
  plan: 'suspended' | 'not_installed',
): void {
  const reason = `the app is ${plan === 'suspended' ? 'suspended' : 'not installed'}`;
  const text = `${reason} on ${account}: its repositories cannot be read`;
  notes.push({ level: 'warn', text });
  unread.push({ name: `${account}/*`, plan, reason: `${reason} there` });
}

function add(
  { repositories }: RepositoryListing,
  found: readonly z.output<typeof hostRepository>[],
  use: SourceUse,
): void {
  for (const repository of found) repositories.push({ ...repository, use });
}
