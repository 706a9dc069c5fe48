import type { Database, Statement } from '../../database/database.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { fixesOfRun, newestFixesOfRun } from '../base/fixes.ts';
import {
  iso,
  jsonArray,
  jsonObject,
  type Page,
  type PageRequest,
  pageOffset,
  pageQuery,
  readObject,
  readPage,
} from '../base/page.ts';
import { boundedResultColumns, resultColumns } from '../base/result-columns.ts';
import { isStoppedRun, newestRun } from './last-runs.ts';
import { hasFailures, isFailedResult } from './run-failures.ts';

/** Maps `success`, which old rows may contain, to `completed`. */
export const runStatusSql = `CASE status WHEN 'success' THEN 'completed' ELSE status END`;

/** How many sources that were never read are listed, and the characters of each text about them. */
export const MAX_UNREAD = 50;
const MAX_UNREAD_TEXT = 300;

/** SQL for the sources of the row `run` that were never read, each with the reason. */
const unreadSources = `(SELECT coalesce(json_agg(item), '[]') FROM (
    SELECT ${cutTextSql('key', MAX_UNREAD_TEXT)} AS source, ${cutTextSql('value', MAX_UNREAD_TEXT)} AS reason
    FROM jsonb_each_text(run.unread_sources) ORDER BY key LIMIT ${MAX_UNREAD}
  ) AS item)`;

/** The columns of a BackupRun in order, of a row `run`. */
export const runColumns = `
  id, ${iso('started_at')} AS started_at, ${iso('completed_at')} AS completed_at,
  ${runStatusSql} AS status, coalesce(duration_ms, 0) AS duration_ms,
  coalesce(total_repos, 0) AS total_repos, coalesce(successful, 0) AS successful,
  coalesce(failed, 0) AS failed, coalesce(skipped, 0) AS skipped,
  ${unreadSources} AS unread_sources, coalesce(error_message, '') AS error_message, ${isStoppedRun} AS is_stopped, ${iso('heartbeat_at')} AS heartbeat_at,
  CASE status WHEN 'running' THEN progress END AS progress`;

/** By what runs are ordered, before their start. */
const orders = { newest: null, longest: 'duration_ms', failures: 'failed' } as const;

/** How runs can be ordered. */
export const runOrders = Object.keys(orders) as (keyof typeof orders)[];

export interface RunOrder {
  order?: keyof typeof orders;
  /** Whether to list them the other way round. */
  isReverse?: boolean | undefined;
}

/** Selects the runs that match all given filters. */
export interface RunFilter {
  status?: string | undefined;
  /** Whether the run failed or has failed repositories. */
  hasFailures?: boolean | undefined;
  /** Only runs that started at this time or later. ISO 8601. */
  from?: string | undefined;
  /** Only runs that started before this time. ISO 8601. */
  to?: string | undefined;
}

const conditions: { [Key in keyof Required<RunFilter>]: (parameter: string) => string } = {
  status: (parameter) => `${runStatusSql} = ${parameter}`,
  hasFailures: (parameter) => `coalesce(${hasFailures}, false) = ${parameter}::boolean`,
  from: (parameter) => `started_at >= ${parameter}::timestamptz`,
  to: (parameter) => `started_at < ${parameter}::timestamptz`,
};

/** Runs that match the filter. */
export function listRuns(
  db: Database,
  request: PageRequest,
  { order = 'newest', isReverse = false, ...filter }: RunFilter & RunOrder = {},
): Promise<Page> {
  const given = (Object.keys(conditions) as (keyof RunFilter)[]).flatMap((key) => {
    const value = filter[key];
    return value === undefined ? [] : [{ key, value }];
  });
  const where = ['true', ...given.map(({ key }, index) => conditions[key](`$${index + 3}`))];
  const condition = where.join(' AND ');
  const direction = isReverse ? 'ASC' : 'DESC';
  const first = orders[order];
  // Without a value, a run comes last.
  const nulls = isReverse ? 'NULLS FIRST' : 'NULLS LAST';
  const sorted = [
    ...(first === null ? [] : [`run.${first} ${direction} ${nulls}`]),
    `run.started_at ${direction}, run.id ${direction}`,
  ].join(', ');
  const statement = {
    name: [
      'runs_page',
      ...(order === 'newest' ? [] : [order]),
      ...(isReverse ? ['reverse'] : []),
      ...given.map(({ key }) => key.toLowerCase()),
    ].join('_'),
    text: pageQuery(
      `SELECT ${runColumns} FROM backup_runs AS run WHERE ${condition}
       ORDER BY ${sorted} LIMIT $1::bigint OFFSET $2::bigint`,
      `SELECT count(*) FROM backup_runs WHERE ${condition}`,
    ),
  };
  return readPage(db, statement, [
    request.limit,
    pageOffset(request),
    ...given.map(({ value }) => value),
  ]);
}

const latestRun: Statement = {
  name: 'latest_run',
  text: `SELECT ${jsonObject(`
${newestRun(`${runColumns}, ${fixesOfRun('run.id')} AS fixes`)}`)} AS item`,
};

/** The latest run with its `fixes`; null when there is no run. */
export function readLatestRun(db: Database): Promise<string | null> {
  return readObject(db, latestRun);
}

const MAX_ERROR_LENGTH = 4_000;

const runDetails: Statement = {
  name: 'run_details',
  text: `SELECT ${jsonObject(`
    SELECT row_to_json(run) AS run, (SELECT coalesce(json_agg(result), '[]') FROM (
        SELECT ${boundedResultColumns(MAX_ERROR_LENGTH)} FROM backup_results AS result
        WHERE run_id = $1::bigint ORDER BY ${isFailedResult('result.status')} DESC, result.id
        LIMIT $2::bigint OFFSET $3::bigint
      ) AS result) AS results,
      (SELECT coalesce(json_object_agg(status, results), '{}') FROM (
        SELECT coalesce(status, '') AS status, count(*) AS results FROM backup_results
        WHERE run_id = $1::bigint GROUP BY 1 ORDER BY 1 LIMIT 20
      ) AS counted) AS result_counts,
      ${newestFixesOfRun('run.id')} AS fixes,
      (SELECT count(*) FROM backup_run_fixes AS link WHERE link.run_id = run.id) AS fixes_count
    FROM (SELECT ${runColumns} FROM backup_runs AS run WHERE id = $1::bigint) AS run`)} AS item`,
};

/**
 * A run as JSON with a page of its results (failures first), the number of results by status, and the
 * newest fixes linked to it; null when there is no such run.
 */
export function readRunDetails(
  db: Database,
  id: number,
  { offset, limit }: { offset: number; limit: number },
): Promise<string | null> {
  return readObject(db, runDetails, [id, limit, offset]);
}

const runWithResults: Statement = {
  name: 'run_with_results',
  text: `SELECT
    ${jsonObject(`SELECT ${runColumns} FROM backup_runs AS run WHERE id = $1::bigint`)} AS run,
    ${jsonArray(`SELECT ${resultColumns} FROM backup_results WHERE run_id = $1::bigint ORDER BY id`)}
      AS results`,
};

/** A run with its results, ordered by id; null when there is no such run. */
export async function readRun(
  db: Database,
  id: number,
): Promise<{ run: string; results: string } | null> {
  const [row] = await db.query<{ run: string | null; results: string }>(runWithResults, [id]);
  return row?.run ? { run: row.run, results: row.results } : null;
}
