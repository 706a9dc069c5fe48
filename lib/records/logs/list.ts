import type { Database, SqlValue, Statement } from '../../database/database.ts';
import {
  iso,
  jsonArray,
  type Page,
  type PageRequest,
  pageOffset,
  pageQuery,
  readPage,
} from '../base/page.ts';
import { allLogsTotal } from './totals.ts';

/** Selects logs by level (lower case), by run, by both, or all. */
export interface LogFilter {
  level?: string | undefined;
  runId?: number | undefined;
}

/** From this offset on, a page is located with the summary table instead of with OFFSET alone. */
const DEEP_OFFSET = 1_000;

/** The columns of an ExecutionLog in order, with custom SQL for the message. */
export const logColumnsWith = (message: string) => `
  id, ${iso('created_at')} AS created_at, level, ${message} AS message, repository, run_id`;

/** The columns of an ExecutionLog in order. */
export const logColumns = logColumnsWith('message');

const newestFirst = 'ORDER BY log.created_at DESC, log.id DESC';

/** One condition, for the logs and for their summary execution_log_counts. $1 and $2 are limit and offset. */
interface Condition {
  name: string;
  ofLogs: string;
  ofCounts: string;
}

/** Filtered totals are exact: triggers keep the summary up to date. */
const totalOf = (condition: Condition, filteredTotal: string) =>
  condition.ofLogs === 'true' ? allLogsTotal : filteredTotal;

/** A page near the beginning: skips its offset in the index. */
const nearPage = (condition: Condition): Statement => ({
  name: `near_${condition.name}`,
  text: pageQuery(
    `SELECT ${logColumns} FROM execution_logs AS log WHERE ${condition.ofLogs}
     ${newestFirst} LIMIT $1::bigint OFFSET $2::bigint`,
    totalOf(
      condition,
      `SELECT coalesce(sum(log_count), 0) FROM execution_log_counts WHERE ${condition.ofCounts}`,
    ),
  ),
});

/**
 * A deep page: finds the hour in which the page starts from the hourly counts in the summary, and skips rows
 * only within that hour. Exact, because the summary changes in the same transaction as the logs. Without
 * such an hour the page is past the end.
 */
const deepPage = (condition: Condition): Statement => ({
  name: `deep_${condition.name}`,
  text: `WITH hours AS (
      SELECT hour, sum(log_count) AS logs FROM execution_log_counts
      WHERE ${condition.ofCounts} GROUP BY hour
    ), placed AS (
      SELECT hour, logs, sum(logs) OVER (ORDER BY hour DESC) - logs AS newer FROM hours
    ), start AS (
      SELECT hour + interval '59 minutes 59.999999 seconds' AS newest, $2::bigint - newer AS rest
      FROM placed WHERE newer <= $2::bigint AND newer + logs > $2::bigint
    )
    SELECT ${jsonArray(`
      SELECT ${logColumns} FROM execution_logs AS log
      WHERE ${condition.ofLogs} AND log.created_at <= (SELECT newest FROM start)
      ${newestFirst} LIMIT $1::bigint OFFSET (SELECT rest FROM start)`)} AS items,
      (${totalOf(condition, 'SELECT coalesce(sum(logs), 0) FROM hours')})::text AS total`,
});

const statementsFor = (condition: Condition) => ({
  near: nearPage(condition),
  deep: deepPage(condition),
});

const all = statementsFor({ name: 'logs', ofLogs: 'true', ofCounts: 'true' });
const ofLevel = statementsFor({
  name: 'logs_of_level',
  ofLogs: 'lower(log.level) = $3',
  ofCounts: 'level = $3',
});
const ofRun = statementsFor({
  name: 'logs_of_run',
  ofLogs: 'log.run_id = $3::bigint',
  ofCounts: 'run_key = $3::bigint AND run_key <> 4294967296',
});
const ofRunAndLevel = statementsFor({
  name: 'logs_of_run_and_level',
  ofLogs: 'log.run_id = $3::bigint AND lower(log.level) = $4',
  ofCounts: 'run_key = $3::bigint AND run_key <> 4294967296 AND level = $4',
});

/**
 * Logs, newest first. The level matches case-insensitively. Totals are exact, except that of all logs
 * from 10,000 rows on.
 */
export function listLogs(db: Database, request: PageRequest, filter: LogFilter): Promise<Page> {
  const { statements, values } = select(filter);
  const offset = pageOffset(request);
  const statement = offset < DEEP_OFFSET ? statements.near : statements.deep;
  return readPage(db, statement, [request.limit, offset, ...values]);
}

function select({ level, runId }: LogFilter): { statements: typeof all; values: SqlValue[] } {
  if (level !== undefined && runId !== undefined) {
    return { statements: ofRunAndLevel, values: [runId, level] };
  }
  if (level !== undefined) return { statements: ofLevel, values: [level] };
  if (runId !== undefined) return { statements: ofRun, values: [runId] };
  return { statements: all, values: [] };
}
