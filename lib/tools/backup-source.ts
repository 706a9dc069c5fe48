import type { z } from 'zod';
import type { OpenIncident } from '../alerts/incidents/list.ts';
import type { RecordedArchive } from '../archives/base/archive-owner.ts';
import type { NewFix } from '../records/base/fixes.ts';
import type { PageRequest } from '../records/base/page.ts';
import type { LogSelection } from '../records/logs/selection.ts';
import type {
  dashboardSummary,
  failureFacts,
  fixOfRun,
  log,
  metricsHistory,
  pageOf,
  recordedFix,
  restoreProofs,
  result,
  run,
  runRequest,
  stateCounts,
  trackedRepository,
} from './shapes.ts';

export type Run = z.infer<typeof run>;
export type BackupResult = z.infer<typeof result>;
export type RunFix = z.infer<typeof fixOfRun>;
export type ExecutionLog = z.infer<typeof log>;
export type DashboardSummary = z.infer<typeof dashboardSummary>;
export type MetricsHistory = z.infer<typeof metricsHistory>;
export type FailureFacts = z.infer<typeof failureFacts>;
export type StateCounts = z.infer<typeof stateCounts>;
export type RestoreProofs = z.infer<typeof restoreProofs>;
export type TrackedRepository = z.infer<typeof trackedRepository>;
export type RunRequest = z.infer<typeof runRequest>;
export type RecordedFix = z.infer<typeof recordedFix>;

/** One page of a list, in the format of the service API. */
export type PageOf<Item extends z.ZodType> = z.infer<ReturnType<typeof pageOf<Item>>>;

/** Selects runs by status, and by whether repositories failed in them. */
export interface RunSelection {
  status?: string | undefined;
  /** A run that failed as a whole counts as having failures. */
  hasFailures?: boolean | undefined;
}

/** A run with the results of its repositories, failures first, and its linked fixes. */
export interface RunDetails {
  run: Run;
  results: BackupResult[];
  /** How many results of each status the run has. */
  result_counts: Record<string, number>;
  fixes: RunFix[];
  fixes_count: number;
  /** What this data source does not know. */
  note?: string;
}

/** Logs, newest first. `truncated`: more logs match, or may match. */
export interface FoundLogs {
  logs: ExecutionLog[];
  truncated: boolean;
}

/** The state of the database. `latency_ms` is null if it does not answer. */
export interface DatabaseHealth {
  status: 'connected' | 'disconnected';
  latency_ms: number | null;
  /** Null when another process holds the connections. */
  pool_open_connections: number | null;
}

/**
 * All reads and writes of backup data for the tools. Implemented over the database, and over the service API at
 * BACKEND_URL. Methods throw AppError with a message that a client may read.
 */
export interface BackupSource {
  readDashboard(signal: AbortSignal): Promise<DashboardSummary>;
  /** Figures of the runs of the last `days` days, by UTC day of their start, newest first. */
  readMetrics(days: number, signal: AbortSignal): Promise<MetricsHistory>;
  listRepositories(
    page: PageRequest,
    signal: AbortSignal,
  ): Promise<PageOf<typeof trackedRepository>>;
  /** The runs that match the filter, newest first. */
  listRuns(
    page: PageRequest,
    filter: RunSelection,
    signal: AbortSignal,
  ): Promise<PageOf<typeof run>>;
  /** A run with up to `limit` of its results from `offset` on; null if there is no such run. */
  readRun(
    id: number,
    results: { offset: number; limit: number },
    signal: AbortSignal,
  ): Promise<RunDetails | null>;
  /** The run that started last; null if there is none. */
  readLatestRun(signal: AbortSignal): Promise<(Run & { fixes: RunFix[] }) | null>;
  /** The newest matching logs, at most `limit`. Throws NOT_FOUND if no log has the id `beforeId`. */
  selectLogs(
    selection: LogSelection,
    limit: number,
    signal: AbortSignal,
    /** At least this much of each message, by default 4,000 characters. */
    maxMessage?: number,
  ): Promise<FoundLogs>;
  /** The failures of a run, by default of the latest run with failures; null if there is no such run. */
  readFailure(runId: number | undefined, signal: AbortSignal): Promise<FailureFacts | null>;
  /** The newest error logs of a run by repository. An empty name stands for logs without a repository. */
  readErrorLogs(
    runId: number,
    repositories: readonly string[],
    signal: AbortSignal,
  ): Promise<Map<string, string[]>>;
  /**
   * Queues a run, or returns the pending request for the same target. Throws NOT_FOUND with suggestions for a
   * target that is not tracked.
   */
  requestRun(
    request: { target: string | null; reason: string },
    signal: AbortSignal,
  ): Promise<RunRequest>;
  /** Stores a fix. Throws NOT_FOUND and stores nothing if the affected run does not exist. */
  recordFix(fix: NewFix, signal: AbortSignal): Promise<RecordedFix>;
  /** How many repositories are in each state. Never throws: null if unknown. */
  countStates(signal: AbortSignal): Promise<StateCounts | null>;
  /** The newest open incidents, at most 20. Never throws: null if unknown. */
  readIncidents(signal: AbortSignal): Promise<OpenIncident[] | null>;
  /** How many repositories restore drills have proven, and which need it most. Never throws: null if unknown. */
  readProofs(signal: AbortSignal): Promise<RestoreProofs | null>;
  /** Never throws: a database that does not answer is `disconnected`. */
  checkDatabase(signal: AbortSignal): Promise<DatabaseHealth>;
  /** The recorded archive of `owner/name`; null if there is none. */
  findArchive(repository: string, signal: AbortSignal): Promise<RecordedArchive | null>;
}
