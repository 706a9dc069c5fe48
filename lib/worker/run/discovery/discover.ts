import { RequestError } from '@octokit/request-error';
import { ZodError } from 'zod';
import { AppError } from '../../../errors.ts';
import type { CoverageFacts, SeenRepository } from '../../../records/recording/plans.ts';
import type { TrackedRepository } from '../../../records/recording/repo-state.ts';
import { cleanText } from '../../../text/clean-text.ts';
import { canonicalAddress } from '../../../text/source-address.ts';
import type { Source, SourceUse } from '../../base/source.ts';
import { RunStopped } from '../../base/stop.ts';
import { createGitHostClient, type GitHostClient } from '../../hosts/client.ts';
import { explainHostError } from '../../hosts/errors.ts';
import { isSafeFullName, type ListedRepository } from '../../hosts/host-repository.ts';
import { DISABLED, describeAccess, lookUpRepository } from '../../hosts/look-up.ts';
import type { HostAccess } from '../../logins/host-access.ts';
import { logInAgain } from '../../logins/messages.ts';
import { openTokenSource, type TokenSource } from '../../logins/token-source.ts';
import { listByAccounts, listByInstallations, NothingListed } from './list-repositories.ts';
import { findMissingRepositories, listArchivedFrom } from './missing.ts';

interface DiscoveryOptions {
  /** Reads the repositories that have an archive; empty if that is not recorded. */
  tracked(): Promise<TrackedRepository[]>;
  access: HostAccess;
  archiveFolder: string;
  /** Full names, in lower case, of the repositories on this host that archives are pushed to. */
  destinations: readonly string[];
  /** Canonical addresses of the repositories that other sources name, which are not missing. */
  named?: readonly string[];
  /** Called with the archived repositories that are no longer listed, and how many still are. */
  missed?(names: readonly string[], listed: number): Promise<void>;
  /** Called with each repository or account that was seen but is not backed up. */
  unread?(seen: Omit<SeenRepository, 'facts'>): void;
  /** Writes a line to the run's log. */
  note(level: 'info' | 'warn', text: string, repository?: string): Promise<void>;
}

/**
 * Finds the repositories to back up on the git host: those that it lists now, and those that it listed
 * earlier, with the reason why they cannot be read. Throws RunStopped if the host cannot be reached or lists
 * nothing, so that no repository is mistaken for deleted.
 */
export async function discoverSources(options: DiscoveryOptions): Promise<Source[]> {
  const { access } = options;
  let origin: TokenSource['origin'] = 'login';
  try {
    const tokens = await openTokenSource(access, access.logins);
    origin = tokens.origin;
    return await discover(options, tokens);
  } catch (error) {
    access.connection.signal.throwIfAborted();
    const isExpected = [AppError, RequestError, ZodError].some((kind) => error instanceof kind);
    if (!isExpected) throw error;
    const fault = explainFault(error, access.connection.apiUrl, origin);
    const exitCode = fault.code === 'UNAUTHORIZED' ? 4 : 1;
    throw new RunStopped(`discovery failed: ${fault.message}`, { cause: fault, exitCode });
  }
}

async function discover(options: DiscoveryOptions, tokens: TokenSource): Promise<Source[]> {
  const { access, tracked, archiveFolder, destinations, note } = options;
  const { connection, config, notify } = access;
  const clients = new Map<SourceUse, GitHostClient>();
  const clientFor = (use: SourceUse) => {
    const client =
      clients.get(use) ??
      createGitHostClient({ connection, token: () => tokens.source(use), notify });
    clients.set(use, client);
    return client;
  };
  const listing =
    tokens.discovery === 'auto'
      ? listByInstallations(clientFor('organization'), config)
      : listByAccounts(clientFor, config);
  const { repositories, notes, unread } = await listing.catch(async (error: unknown) => {
    if (error instanceof NothingListed) await reportAllMissing(options);
    throw error;
  });
  for (const { level, text } of notes) await note(level, text);
  for (const account of unread) options.unread?.(account);

  const found = new Map<string, Source>();
  for (const listed of repositories) {
    const key = listed.full_name.toLowerCase();
    if (found.has(key)) continue;
    if (destinations.includes(key)) {
      const text = 'skipped: it is the destination of the archives';
      const name = cleanText(listed.full_name, 250);
      options.unread?.({ name, plan: 'destination', reason: 'archives are pushed there' });
      await note('info', text, name);
      continue;
    }
    const source = sourceOf(listed, options, tokens, clientFor(listed.use));
    found.set(key, source);
  }
  const known = (await tracked()).filter(({ isForgotten }) => !isForgotten);
  const missing = await findMissingRepositories({
    tracked: known,
    archiveFolder,
    hostUrl: connection.hostUrl,
    listed: new Set([...found.keys(), ...destinations]),
    addresses: new Set([
      ...[...found.values()].map(({ location }) => canonicalAddress(location)),
      ...(options.named ?? []),
    ]),
    lookUp: (name) => lookUpRepository(clientFor('private'), name),
  });
  const gone = missing.filter(({ isRenamed }) => !isRenamed);
  const listed = known.filter(({ repository }) => found.has(repository.toLowerCase())).length;
  if (gone.length > 0)
    await options.missed?.(
      gone.map(({ repository }) => repository),
      listed,
    );
  for (const { repository, reason, isRenamed } of missing) {
    if (isRenamed) await note('info', reason, repository);
    else found.set(repository.toLowerCase(), lostSource(repository, reason, connection.hostUrl));
  }
  return [...found.values()];
}

/** Reports every repository with an archive from a host that lists nothing. */
async function reportAllMissing({ access, tracked, archiveFolder, missed }: DiscoveryOptions) {
  const { hostUrl } = access.connection;
  const names = await listArchivedFrom(
    hostUrl,
    archiveFolder,
    (await tracked()).filter(({ isForgotten }) => !isForgotten),
  );
  if (names.length > 0) await missed?.(names, 0);
}

function sourceOf(
  listed: ListedRepository,
  { access }: DiscoveryOptions,
  tokens: TokenSource,
  client: GitHostClient,
): Source {
  const { hostUrl } = access.connection;
  const { full_name: fullName, archived, fork, disabled } = listed;
  const hasValidName = isSafeFullName(fullName);
  const fault = disabled ? DISABLED : null;
  return {
    name: hasValidName ? fullName : cleanText(fullName, 250),
    // Not the address in the host's response: the token must not be sent anywhere else.
    location: `${hostUrl}/${hasValidName ? fullName : ''}.git`,
    isLocal: false,
    protocols: new URL(hostUrl).protocol.slice(0, -1),
    host: {
      url: hostUrl,
      isPrivate: listed.private,
      sizeBytes: listed.size === undefined ? null : listed.size * 1_024,
      remarks: [
        ...(archived ? ['archived on the git host: read-only there'] : []),
        ...(fork ? ['a fork'] : []),
      ],
      fault: hasValidName ? fault : 'its name on the git host is not valid',
      facts: factsOf(listed),
      ...(hasValidName ? {} : { plan: 'invalid_name' as const }),
      ...(hasValidName && disabled ? { plan: 'disabled' as const } : {}),
      use: listed.use,
      token: () => tokens.source(listed.use),
      explain: async () => describeAccess(await lookUpRepository(client, fullName), fullName),
    },
  };
}

function factsOf({ archived, open_issues_count, ...listed }: ListedRepository): CoverageFacts {
  const { has_wiki, has_issues, has_discussions } = listed;
  return { archived, has_wiki, has_issues, has_discussions, open_issues: open_issues_count };
}

function lostSource(name: string, fault: string, url: string): Source {
  const never = () => Promise.reject(new Error('a lost repository cannot be read'));
  return {
    name,
    location: `${url}/${name}.git`,
    isLocal: false,
    protocols: 'none',
    host: {
      url,
      isPrivate: true,
      sizeBytes: null,
      remarks: [],
      fault,
      plan: 'lost',
      use: 'private',
      token: never,
      explain: never,
    },
  };
}

function explainFault(error: unknown, apiUrl: string, origin: TokenSource['origin']): AppError {
  if (!(error instanceof RequestError && error.status === 401)) {
    return explainHostError(error, apiUrl);
  }
  if (origin === 'login')
    return logInAgain('github:source', 'the git host does not accept its token');
  return new AppError(
    'UNAUTHORIZED',
    'the git host rejects the token of GIT_TOKEN_PERSONAL or GIT_TOKEN_PRIVATE: set another one',
  );
}
