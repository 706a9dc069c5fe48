import type { z } from 'zod';
import type { RecordedArchive } from '../archives/open-archive.ts';
import type { LogSelection } from '../records/filtered-logs.ts';
import type { NewFix } from '../records/fixes.ts';
import type { PageRequest } from '../records/page.ts';
import type {
  dashboardSummary,
  failureFacts,
  fixOfRun,
  log,
  metricsHistory,
  pageOf,
  recordedFix,
  result,
  run,
  runRequest,
  trackedRepository,
} from './shapes.ts';

export type Run = z.infer<typeof run>;
export type BackupResult = z.infer<typeof result>;
export type RunFix = z.infer<typeof fixOfRun>;
export type ExecutionLog = z.infer<typeof log>;
export type DashboardSummary = z.infer<typeof dashboardSummary>;
export type MetricsHistory = z.infer<typeof metricsHistory>;
export type FailureFacts = z.infer<typeof failureFacts>;
export type RunRequest = z.infer<typeof runRequest>;
export type RecordedFix = z.infer<typeof recordedFix>;

/** One page of a list as the service API answers it. */
export type PageOf<Item extends z.ZodType> = z.infer<ReturnType<typeof pageOf<Item>>>;

/** Which runs: of one status, with or without repositories that failed. */
export interface RunFilter {
  status?: string | undefined;
  /** A run that failed as a whole has failures too. */
  hasFailures?: boolean | undefined;
}

/** A run with results of its repositories, those that failed first, and fixes that are linked to it. */
export interface RunDetails {
  run: Run;
  results: BackupResult[];
  /** How many results of each status the run has. */
  result_counts: Record<string, number>;
  fixes: RunFix[];
  fixes_count: number;
  /** What this data source could not find out. */
  note?: string;
}

/** Logs, newest first. `truncated`: there are, or may be, more that fit. */
export interface SelectedLogs {
  logs: ExecutionLog[];
  truncated: boolean;
}

/** How the database does. `latency_ms` is null when it does not answer. */
export interface DatabaseHealth {
  status: 'connected' | 'disconnected';
  latency_ms: number | null;
  /** Null when another process has the connections. */
  pool_open_connections: number | null;
}

/**
 * All reads and writes of backup data that tools need. Two implementations hold the same contract: the
 * database, and the service API at BACKEND_URL. Throws AppError with a message that a client may read.
 */
export interface BackupSource {
  readDashboard(signal: AbortSignal): Promise<DashboardSummary>;
  /** Figures of the runs that started in the last `days` days, by UTC day, newest first. */
  readMetrics(days: number, signal: AbortSignal): Promise<MetricsHistory>;
  listRepositories(
    page: PageRequest,
    signal: AbortSignal,
  ): Promise<PageOf<typeof trackedRepository>>;
  /** Runs that fit the filter, newest first. */
  listRuns(page: PageRequest, filter: RunFilter, signal: AbortSignal): Promise<PageOf<typeof run>>;
  /** A run with `limit` of its results from `offset` on; null when there is no such run. */
  readRun(
    id: number,
    results: { offset: number; limit: number },
    signal: AbortSignal,
  ): Promise<RunDetails | null>;
  /** The run that started last; null when there is none. */
  readLatestRun(signal: AbortSignal): Promise<(Run & { fixes: RunFix[] }) | null>;
  /** The newest logs that fit, at most `limit`. Throws NOT_FOUND for a `beforeId` that no log has. */
  selectLogs(selection: LogSelection, limit: number, signal: AbortSignal): Promise<SelectedLogs>;
  /** What is known of a run, by default the latest with failures; null when there is no such run. */
  readFailure(runId: number | undefined, signal: AbortSignal): Promise<FailureFacts | null>;
  /** The newest error logs of a run by repository; those of none by an empty text. */
  readErrorLogs(
    runId: number,
    repositories: readonly string[],
    signal: AbortSignal,
  ): Promise<Map<string, string[]>>;
  /**
   * Queues a run, or finds the pending request for the same target. Throws NOT_FOUND, naming what is near,
   * for a target that is no tracked repository.
   */
  requestRun(
    request: { target: string | null; reason: string },
    signal: AbortSignal,
  ): Promise<RunRequest>;
  /** Stores a fix. Throws NOT_FOUND, and stores nothing, when the affected run does not exist. */
  recordFix(fix: NewFix, signal: AbortSignal): Promise<RecordedFix>;
  /** Never throws: a database that does not answer is `disconnected`. */
  checkDatabase(signal: AbortSignal): Promise<DatabaseHealth>;
  /** The recorded archive of `owner/name`, null when none is. */
  findArchive(repository: string, signal: AbortSignal): Promise<RecordedArchive | null>;
}
