import type { Database, Statement } from '../database/database.ts';
import { fixesOfRun, newestFixesOfRun } from './fixes.ts';
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
} from './page.ts';
import { boundedResultColumns, resultColumns } from './result-columns.ts';
import { hasFailures, isFailure } from './run-failures.ts';

/** Maps `success`, which old rows may contain, to `completed`. */
export const runStatus = `CASE status WHEN 'success' THEN 'completed' ELSE status END`;

/** The columns of a BackupRun in order. */
const runColumns = `
  id, ${iso('started_at')} AS started_at, ${iso('completed_at')} AS completed_at,
  ${runStatus} AS status, coalesce(duration_ms, 0) AS duration_ms,
  coalesce(total_repos, 0) AS total_repos, coalesce(successful, 0) AS successful,
  coalesce(failed, 0) AS failed, coalesce(skipped, 0) AS skipped,
  coalesce(error_message, '') AS error_message`;

const runsPage = (name: string, condition: string): Statement => ({
  name,
  text: pageQuery(
    `SELECT ${runColumns} FROM backup_runs AS run WHERE ${condition}
     ORDER BY run.started_at DESC, run.id DESC LIMIT $1::bigint OFFSET $2::bigint`,
    `SELECT count(*) FROM backup_runs WHERE ${condition}`,
  ),
});

const withFailures = (parameter: string) =>
  `coalesce(${hasFailures}, false) = ${parameter}::boolean`;
const pages = {
  all: runsPage('runs_page', 'true'),
  ofStatus: runsPage('runs_page_of_status', `${runStatus} = $3`),
  ofFailures: runsPage('runs_page_of_failures', withFailures('$3')),
  ofBoth: runsPage('runs_page_of_both', `${runStatus} = $3 AND ${withFailures('$4')}`),
};

/** Selects runs by status, and by whether they have failures. */
export interface RunFilter {
  status?: string | undefined;
  hasFailures?: boolean | undefined;
}

/** Runs that match the filter, newest first. */
export function listRuns(
  db: Database,
  request: PageRequest,
  { status, hasFailures }: RunFilter = {},
): Promise<Page> {
  const page = [request.limit, pageOffset(request)];
  if (status !== undefined && hasFailures !== undefined) {
    return readPage(db, pages.ofBoth, [...page, status, hasFailures]);
  }
  if (status !== undefined) return readPage(db, pages.ofStatus, [...page, status]);
  if (hasFailures !== undefined) return readPage(db, pages.ofFailures, [...page, hasFailures]);
  return readPage(db, pages.all, page);
}

const latestRun: Statement = {
  name: 'latest_run',
  text: `SELECT ${jsonObject(`
    SELECT ${runColumns}, ${fixesOfRun('run.id')} AS fixes FROM backup_runs AS run
    ORDER BY run.started_at DESC, run.id DESC LIMIT 1`)} AS item`,
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
        WHERE run_id = $1::bigint ORDER BY ${isFailure('result.status')} DESC, result.id
        LIMIT $2::bigint OFFSET $3::bigint
      ) AS result) AS results,
      (SELECT coalesce(json_object_agg(status, results), '{}') FROM (
        SELECT coalesce(status, '') AS status, count(*) AS results FROM backup_results
        WHERE run_id = $1::bigint GROUP BY 1 ORDER BY 1 LIMIT 20
      ) AS counted) AS result_counts,
      ${newestFixesOfRun('run.id')} AS fixes,
      (SELECT count(*) FROM backup_run_fixes AS link WHERE link.run_id = run.id) AS fixes_count
    FROM (SELECT ${runColumns} FROM backup_runs WHERE id = $1::bigint) AS run`)} AS item`,
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
    ${jsonObject(`SELECT ${runColumns} FROM backup_runs WHERE id = $1::bigint`)} AS run,
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
