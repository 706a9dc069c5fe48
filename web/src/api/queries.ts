import { keepPreviousData, type QueryClient, queryOptions } from '@tanstack/react-query';
import { basePath } from './base-path.ts';
import { ApiError, api, body, type Schemas } from './client.ts';

const REFRESH_MS = 15_000;
/** The interval while something is about to change. */
const SOON_MS = 3_000;

/** The logged-in user. */
export const me = queryOptions({
  queryKey: ['me'],
  queryFn: async () => (await body(api.GET('/auth/me'))).data,
  retry: false,
  staleTime: 60_000,
});

/** How many days the overview shows. */
export const OVERVIEW_DAYS = 90;

export const metrics = (days: number) =>
  queryOptions({
    queryKey: ['metrics', days],
    queryFn: () => body(api.GET('/api/metrics', { params: { query: { days } } })),
    refetchInterval: REFRESH_MS,
  });

export interface RunsQuery {
  page: number;
  has_failures?: true;
  order?: 'newest' | 'longest' | 'failures' | undefined;
  /** List them the other way round. */
  reverse?: true | undefined;
}

export const runs = (query: RunsQuery) =>
  queryOptions({
    queryKey: ['runs', 'page', query],
    queryFn: () => body(api.GET('/api/backups', { params: { query: { ...query, limit: 25 } } })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });

export const run = (id: number) =>
  queryOptions({
    queryKey: ['runs', id],
    queryFn: () => body(api.GET('/api/backups/{id}', { params: { path: { id } } })),
    refetchInterval: ({ state }) => (state.data?.run.status === 'running' ? SOON_MS : false),
  });

export const overview = queryOptions({
  queryKey: ['overview'],
  queryFn: () => body(api.GET('/api/overview')),
  refetchInterval: ({ state: { data } }) =>
    // A user without backups is about to make the first.
    data && (data.running !== null || data.repositories.total === 0) ? SOON_MS : REFRESH_MS,
});

/** Loads anew whatever shows which repositories are tracked. */
export async function refreshTracked(client: QueryClient): Promise<void> {
  const keys = ['repository', 'repositories', 'incidents', 'overview'];
  await Promise.all(keys.map((key) => client.invalidateQueries({ queryKey: [key] })));
}

/** Filters and order of the list of repositories. */
export interface RepositoriesQuery {
  page?: number | undefined;
  text?: string | undefined;
  state?: RepositoryState | undefined;
  /** List the forgotten repositories instead of the tracked ones. */
  forgotten?: true | undefined;
  proof?: 'proven' | 'overdue' | 'never' | 'failing' | undefined;
  off_site?: 'current' | 'behind' | 'missing' | 'failing' | undefined;
  order?: 'size' | 'name' | 'newest' | 'worst' | 'last_good' | 'proof' | undefined;
  /** List them the other way round. */
  reverse?: true | undefined;
}
export type RepositoryState = Schemas['TrackedRepository']['state'];

export const repositories = (query: RepositoriesQuery) =>
  queryOptions({
    queryKey: ['repositories', query],
    queryFn: () => body(api.GET('/api/repos', { params: { query: { ...query, limit: 25 } } })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });

/** The two parts of a repository name, as API paths have them. */
export interface RepositoryPath {
  owner: string;
  name: string;
}

export const repository = (path: RepositoryPath) =>
  queryOptions({
    queryKey: ['repository', path],
    queryFn: () => body(api.GET('/api/repos/{owner}/{name}', { params: { path } })),
    refetchInterval: REFRESH_MS,
  });

export const history = (path: RepositoryPath, query: { page: number; limit: number }) =>
  queryOptions({
    queryKey: ['repository', path, 'history', query],
    queryFn: () => body(api.GET('/api/repos/{owner}/{name}/history', { params: { path, query } })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });

export const versions = (
  path: RepositoryPath,
  query: { page: number; limit: number; pruned: boolean; until?: string },
) =>
  queryOptions({
    queryKey: ['repository', path, 'versions', query],
    queryFn: () => body(api.GET('/api/repos/{owner}/{name}/versions', { params: { path, query } })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });

/** What each off-site store has of a repository. */
export const stores = (path: RepositoryPath) =>
  queryOptions({
    queryKey: ['repository', path, 'stores'],
    queryFn: () => body(api.GET('/api/repos/{owner}/{name}/stores', { params: { path } })),
    refetchInterval: REFRESH_MS,
  });

/** The restore drills of a repository, from the ledger. */
export const drills = (path: RepositoryPath, query: { page: number; limit: number }) =>
  queryOptions({
    queryKey: ['repository', path, 'drills', query],
    queryFn: () => body(api.GET('/api/repos/{owner}/{name}/drills', { params: { path, query } })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });

/** The address of the signed statement about a drill, in one of its forms. */
export function statementAddress(drill: number, format: 'envelope' | 'statement' | 'signature') {
  return `${basePath}/api/drills/${drill}/statement?format=${format}`;
}

/** The public keys that sign the results of restore drills, newest first. */
export const signingKeys = queryOptions({
  queryKey: ['signing keys'],
  queryFn: () => body(api.GET('/api/signing-keys', { params: { query: { limit: 100 } } })),
});

/** The address of a public key as a file. */
export function signingKeyAddress(id: string): string {
  return `${basePath}/api/signing-keys/${id}.pem`;
}

/** Replaces the key that signs the results of restore drills. */
export async function replaceSigningKey(): Promise<void> {
  await api.POST('/api/signing-keys');
}

/** The anomalies of a repository. */
export const anomaliesOf = (path: RepositoryPath, query: { page: number; limit: number }) =>
  queryOptions({
    queryKey: ['anomalies', path, query],
    queryFn: () =>
      body(api.GET('/api/repos/{owner}/{name}/anomalies', { params: { path, query } })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });

/** The unconfirmed anomalies of all repositories. */
/** The anomalies of all repositories, newest first. */
export const allAnomalies = (query: { page: number; open?: true | undefined }) =>
  queryOptions({
    queryKey: ['anomalies', 'page', query],
    queryFn: () => body(api.GET('/api/anomalies', { params: { query: { ...query, limit: 25 } } })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });

export const openAnomalies = (limit: number) =>
  queryOptions({
    queryKey: ['anomalies', 'open', limit],
    queryFn: () => body(api.GET('/api/anomalies', { params: { query: { open: true, limit } } })),
    refetchInterval: REFRESH_MS,
  });

export type IncidentState = 'open' | 'resolved';

export const incidents = (query: { page: number; state: IncidentState }) =>
  queryOptions({
    queryKey: ['incidents', query],
    queryFn: () => body(api.GET('/api/incidents', { params: { query: { ...query, limit: 20 } } })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });

/** The open incidents that concern a repository. */
export const incidentsOf = (repository: string) =>
  queryOptions({
    queryKey: ['incidents', 'of', repository],
    queryFn: () =>
      body(
        api.GET('/api/incidents', { params: { query: { repository, state: 'open', limit: 20 } } }),
      ),
    refetchInterval: REFRESH_MS,
  });

/** Which repositories the login could see, and which of them are not backed up. */
export const coverage = (page: number) =>
  queryOptions({
    queryKey: ['coverage', page],
    queryFn: () => body(api.GET('/api/coverage', { params: { query: { page, limit: 20 } } })),
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });

/** The badges in use, of a repository or of all (null). */
export const badges = (repository: string | null, page: number) =>
  queryOptions({
    queryKey: ['badges', repository, page],
    queryFn: () => {
      const query = { page, limit: 20, ...(repository === null ? {} : { repository }) };
      return body(api.GET('/api/badges', { params: { query } }));
    },
    placeholderData: keepPreviousData,
  });

/** The address at which the archive of a repository is served. */
export function archiveAddress({ owner, name }: RepositoryPath): string {
  return `${basePath}/api/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/archive`;
}

export const archive = (path: RepositoryPath) =>
  queryOptions({
    queryKey: ['repository', path, 'archive'],
    queryFn: () => body(api.GET('/api/repos/{owner}/{name}/archive', { params: { path } })),
    retry: false,
  });

/** Comparisons for a list are asked for one after the other: the server reads one archive of a caller at a time. */
let lastComparison: Promise<unknown> = Promise.resolve();

/** How two versions differ; by default `to` and the version before it. */
export const comparison = (
  path: RepositoryPath,
  query: { from?: number; to: number; limit: number },
) =>
  queryOptions({
    queryKey: ['repository', path, 'compare', query],
    queryFn: () => {
      const ask = () =>
        body(api.GET('/api/repos/{owner}/{name}/compare', { params: { path, query } }));
      const answer = lastComparison.then(ask);
      lastComparison = answer.catch(() => undefined);
      return answer;
    },
    retry: false,
    // Versions never change.
    staleTime: Number.POSITIVE_INFINITY,
  });

/** How a text file differs between two versions. */
export const fileComparison = (
  path: RepositoryPath,
  query: { from?: number; to: number; path: string },
) =>
  queryOptions({
    queryKey: ['repository', path, 'compare file', query],
    queryFn: () =>
      body(api.GET('/api/repos/{owner}/{name}/compare/file', { params: { path, query } })),
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The newest restores of a repository. */
export const restores = (repository: string) =>
  queryOptions({
    queryKey: ['restores', repository],
    queryFn: () => body(api.GET('/api/restores', { params: { query: { repository, limit: 10 } } })),
    refetchInterval: ({ state }) =>
      state.data?.data.some((one) => one.ended_at === null && one.status !== 'interrupted')
        ? SOON_MS
        : REFRESH_MS,
  });

/** The total size of all archives after each run, newest first. */
export const archiveSizes = queryOptions({
  queryKey: ['archive sizes'],
  queryFn: () => body(api.GET('/api/analytics/history', { params: { query: { limit: 500 } } })),
});

export const pendingRequests = queryOptions({
  queryKey: ['run requests', 'pending'],
  queryFn: () =>
    body(api.GET('/api/run-requests', { params: { query: { status: 'pending', limit: 100 } } })),
  refetchInterval: REFRESH_MS,
});

export const fixesOfRun = (id: number) =>
  queryOptions({
    queryKey: ['fixes', id],
    queryFn: () => body(api.GET('/api/fixes', { params: { query: { run_id: id } } })),
  });

/** Where the archives are on the server, and the room on their disk; null where they are not on it. */
export const archiveFolder = queryOptions({
  queryKey: ['archive-folder'],
  queryFn: async () => {
    try {
      return await body(api.GET('/api/archive-folder'));
    } catch (error) {
      if (error instanceof ApiError && error.status === 503) return null;
      throw error;
    }
  },
  retry: false,
});

/** The result of a tool that agents use too. */
export const toolResult = (name: string, args: Record<string, unknown> = {}) =>
  queryOptions({
    queryKey: ['tool', name, args],
    queryFn: async () => {
      const { data } = await body(api.POST('/api/tools/execute', { body: { name, args } }));
      if (!data.success) throw new Error(data.error ?? `${name} failed`);
      return data.result ?? {};
    },
    retry: false,
  });

/** A line and those around it, newest first; null if it is no longer there. */
export const logsAround = (line: number) =>
  queryOptions({
    queryKey: ['logs', 'around', line],
    queryFn: async () => {
      try {
        return (await body(api.GET('/api/logs/{id}', { params: { path: { id: line } } }))).data;
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null;
        throw error;
      }
    },
  });

export const logs = (query: { run_id: number; page: number }) =>
  queryOptions({
    queryKey: ['logs', query],
    queryFn: () => body(api.GET('/api/logs', { params: { query: { ...query, limit: 200 } } })),
    placeholderData: keepPreviousData,
  });
