import { failureLimits } from '../../records/runs/run-failures.ts';
import { cutText } from '../../security/redaction/cut-text.ts';
import type { BackupResult, FailureFacts, Run } from '../../tools/backup-source.ts';
import type { RemoteApi } from './api.ts';
import { remoteLogs, remoteRepositories, remoteRuns } from './lists.ts';
import { runHasFailures } from './pages.ts';
import { type RemoteRun, readRemoteLatestRun, readRemoteRun } from './run.ts';

/** The newest runs that are searched for the last success of a repository. */
const MAX_RUNS_BEFORE = 10;

const NOTE = `Read through the service API, which returns only the fixes of the latest run. The last successful commit was searched for in the ${MAX_RUNS_BEFORE} newest runs.`;

const isGood = ({ status }: BackupResult) => status === 'completed' || status === 'success';
const cut = (text: string) => cutText(text, failureLimits.text);

/** Did the repository of this result fail? */
export const hasFailed = ({ status }: BackupResult) =>
  status === 'failed' || status === 'too_large';

/** A repository's newest success. */
interface Success {
  commit: string;
  /** ISO 8601. */
  at: string;
}

/**
 * Returns the same as `readFailure` of lib/records, as far as the service API provides it. Shares no code with it,
 * because that is one SQL statement and this uses only endpoints that every service API has.
 */
export async function readRemoteFailure(
  api: RemoteApi,
  runId: number | undefined,
  signal: AbortSignal,
): Promise<FailureFacts | null> {
  const id = runId ?? (await findFailedRun(api, signal))?.id;
  const found = id === undefined ? null : await readRemoteRun(api, id, signal);
  if (!found) return null;
  const failures = found.results.filter(hasFailed);
  const shown = failures.slice(0, failureLimits.failures);
  const [successes, latest] = await Promise.all([
    findSuccesses(api, shown, found, signal),
    readRemoteLatestRun(api, signal),
  ]);
  return {
    run_id: found.run.id,
    run_status: found.run.status,
    ended_at: found.run.completed_at ?? found.run.started_at,
    run_error: cut(found.run.error_message),
    failed_count: found.run.failed,
    failed_repos_count: failures.length,
    failures: shown.map(({ repo_full_name, status, error_message, created_at }) => {
      const success = successes.get(repo_full_name);
      return {
        repository: repo_full_name,
        status,
        error_message: cut(error_message),
        last_successful_commit: success?.commit || null,
        recovered: success !== undefined && Date.parse(success.at) > Date.parse(created_at),
      };
    }),
    recent_fixes: (latest?.fixes ?? [])
      .slice(-3)
      .reverse()
      .map(({ title, affected_runs }) => ({
        run_id: Math.max(...affected_runs),
        resolution: cut(title),
      })),
    note: NOTE,
  };
}

async function findFailedRun(api: RemoteApi, signal: AbortSignal): Promise<Run | undefined> {
  for await (const { items } of api.readPages(remoteRuns, signal)) {
    const failed = items.find(runHasFailures);
    if (failed) return failed;
  }
  return undefined;
}

/** The newest error logs of a run for the given repositories. An empty name stands for logs without one. */
export async function readRemoteErrorLogs(
  api: RemoteApi,
  runId: number,
  repositories: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, string[]>> {
  const found = new Map(repositories.map((name): [string, string[]] => [name.toLowerCase(), []]));
  // Smaller pages, because errors can be long and an answer of the service API is limited in size.
  const list = { ...remoteLogs({ runId, level: 'error' }), pageSize: 200, maxPages: 50 };
  for await (const { items } of api.readPages(list, signal)) {
    for (const { repository, message } of items) {
      const messages = found.get(repository?.toLowerCase() ?? '');
      if (messages && messages.length < failureLimits.logs) messages.push(cut(message));
    }
    if ([...found.values()].every(({ length }) => length === failureLimits.logs)) break;
  }
  return new Map(repositories.map((name) => [name, found.get(name.toLowerCase()) ?? []]));
}

/** The newest success of each failed repository, from its newest result or from recent runs. */
async function findSuccesses(
  api: RemoteApi,
  failures: readonly BackupResult[],
  failed: RemoteRun,
  signal: AbortSignal,
): Promise<Map<string, Success>> {
  const found = new Map<string, Success>();
  const sought = new Set(failures.map(({ repo_full_name }) => repo_full_name));
  const take = (repository: string, success: Success) => {
    if (sought.delete(repository)) found.set(repository, success);
  };
  if (sought.size === 0) return found;
  for await (const { items } of api.readPages(remoteRepositories, signal)) {
    for (const { full_name, last_status, last_commit_hash, last_backed_up } of items) {
      if (last_status === 'completed' || last_status === 'success') {
        take(full_name, { commit: last_commit_hash, at: last_backed_up });
      }
    }
  }
  for (const run of await readRunsWithSuccess(api, signal)) {
    if (sought.size === 0) break;
    const results =
      run.id === failed.run.id
        ? failed.results
        : ((await readRemoteRun(api, run.id, signal))?.results ?? []);
    for (const { repo_full_name, commit_hash, created_at } of results.filter(isGood).reverse()) {
      take(repo_full_name, { commit: commit_hash, at: created_at });
    }
  }
  return found;
}

async function readRunsWithSuccess(api: RemoteApi, signal: AbortSignal): Promise<Run[]> {
  for await (const { items } of api.readPages({ ...remoteRuns, maxPages: 1 }, signal)) {
    return items.filter(({ successful }) => successful > 0).slice(0, MAX_RUNS_BEFORE);
  }
  return [];
}
