import type { Database, Statement } from '../platform/database/database.ts';
import { fixesOfRun } from './fixes.ts';
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
import { resultColumns } from './results.ts';

/** Old rows may hold `success`, which counts as completed. */
export const runStatus = `CASE status WHEN 'success' THEN 'completed' ELSE status END`;

/** The fields of a BackupRun in their order (spec 1, Resources). */
const runColumns = `
  id, ${iso('started_at')} AS started_at, ${iso('completed_at')} AS completed_at,
  ${runStatus} AS status, coalesce(duration_ms, 0) AS duration_ms,
  coalesce(total_repos, 0) AS total_repos, coalesce(successful, 0) AS successful,
  coalesce(failed, 0) AS failed, coalesce(skipped, 0) AS skipped,
  coalesce(error_message, '') AS error_message`;

const runsPage: Statement = {
  name: 'runs_page',
  text: pageQuery(
    `SELECT ${runColumns} FROM backup_runs AS run
     ORDER BY run.started_at DESC, run.id DESC LIMIT $1::bigint OFFSET $2::bigint`,
    'SELECT count(*) FROM backup_runs',
  ),
};

const runsPageOfStatus: Statement = {
  name: 'runs_page_of_status',
  text: pageQuery(
    `SELECT ${runColumns} FROM backup_runs AS run WHERE ${runStatus} = $3
     ORDER BY run.started_at DESC, run.id DESC LIMIT $1::bigint OFFSET $2::bigint`,
    `SELECT count(*) FROM backup_runs WHERE ${runStatus} = $3`,
  ),
};

/** Runs, newest first, of one status when it is given. */
export function listRuns(db: Database, request: PageRequest, status?: string): Promise<Page> {
  const page = [request.limit, pageOffset(request)];
  if (status !== undefined) return readPage(db, runsPageOfStatus, [...page, status]);
  return readPage(db, runsPage, page);
}

const latestRun: Statement = {
  name: 'latest_run',
  text: `SELECT ${jsonObject(`
    SELECT ${runColumns}, ${fixesOfRun('run.id')} AS fixes FROM backup_runs AS run
    ORDER BY run.started_at DESC, run.id DESC LIMIT 1`)} AS item`,
};

/** The run that started last, with its `fixes`; null when there is no run. */
export function readLatestRun(db: Database): Promise<string | null> {
  return readObject(db, latestRun);
}

const runWithResultsAndFixes: Statement = {
  name: 'run_with_results_and_fixes',
  text: `SELECT ${jsonObject(`
    SELECT row_to_json(run) AS run, (SELECT coalesce(json_agg(result ORDER BY result.id), '[]') FROM (
        SELECT ${resultColumns} FROM backup_results WHERE run_id = $1::bigint
      ) AS result) AS results, ${fixesOfRun('run.id')} AS fixes
    FROM (SELECT ${runColumns} FROM backup_runs WHERE id = $1::bigint) AS run`)} AS item`,
};

/** One run, its results by id and the fixes linked to it; null when there is no such run. */
export function readRunWithFixes(db: Database, id: number): Promise<string | null> {
  return readObject(db, runWithResultsAndFixes, [id]);
}

const runWithResults: Statement = {
  name: 'run_with_results',
  text: `SELECT
    ${jsonObject(`SELECT ${runColumns} FROM backup_runs WHERE id = $1::bigint`)} AS run,
    ${jsonArray(`SELECT ${resultColumns} FROM backup_results WHERE run_id = $1::bigint ORDER BY id`)}
      AS results`,
};

/** One run and its results, by id; null when there is no such run. */
export async function readRun(
  db: Database,
  id: number,
): Promise<{ run: string; results: string } | null> {
  const [row] = await db.query<{ run: string | null; results: string }>(runWithResults, [id]);
  return row?.run ? { run: row.run, results: row.results } : null;
}
