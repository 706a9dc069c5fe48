import type { Database, SqlValue } from '../../lib/database/database.ts';

type Row = Record<string, SqlValue>;

/** Inserts one row with plain SQL, as another program would, and returns its id. */
export async function insert(db: Database, table: string, row: Row = {}): Promise<number> {
  const columns = Object.keys(row);
  const values = columns.map((_, index) => `$${index + 1}`);
  const content =
    columns.length === 0
      ? 'DEFAULT VALUES'
      : `(${columns.join(', ')}) VALUES (${values.join(', ')})`;
  const [inserted] = await db.query<{ id: string }>(
    { text: `INSERT INTO ${table} ${content} RETURNING id::text` },
    Object.values(row),
  );
  return Number(inserted?.id);
}

export const insertRun = (db: Database, row: Row = {}) => insert(db, 'backup_runs', row);
export const insertLog = (db: Database, row: Row = {}) => insert(db, 'execution_logs', row);
export const insertSnapshot = (db: Database, row: Row = {}) =>
  insert(db, 'analytics_snapshots', row);

/** Inserts the result of one repository in a run. */
export const insertResult = (db: Database, runId: number, repository: string, row: Row = {}) =>
  insert(db, 'backup_results', { run_id: runId, repo_full_name: repository, ...row });

/** Inserts a fix and links it to runs. */
export async function insertFix(db: Database, runIds: number[], row: Row = {}): Promise<number> {
  const fixId = await insert(db, 'backup_fixes', row);
  for (const runId of runIds) {
    const text = 'INSERT INTO backup_run_fixes (run_id, fix_id) VALUES ($1, $2)';
    await db.query({ text }, [runId, fixId]);
  }
  return fixId;
}

/** Runs plain SQL and returns its rows. */
export function sql<Result>(
  db: Database,
  text: string,
  values: SqlValue[] = [],
): Promise<Result[]> {
  return db.query<Result>({ text }, values, { timeoutMs: 60_000 });
}

/** The tables of backup data, without those that summarize others. */
export const backupTables = [
  ...['backup_runs', 'backup_results', 'execution_logs', 'analytics_snapshots', 'backup_fixes'],
  ...['backup_run_fixes', 'backup_run_requests', 'worker_repo_state', 'archive_versions'],
  ...['archive_refs', 'archive_stores', 'repository_sources', 'anomalies', 'coverage', 'incidents'],
  ...['incident_repositories', 'alert_deliveries', 'alert_evaluation', 'host_logins'],
  ...['archive_disks', 'badges', 'sources', 'forgotten_repositories', 'run_jobs', 'run_members'],
  ...['status_pages', 'alert_notices', 'quiet_hours', 'digest', 'mutes', 'maintenance_windows'],
];

/** Removes every row of backup data; ids start at 1 again. */
export const empty = (db: Database) => truncate(db, backupTables.join(', '));

/**
 * Truncates tables, whose ids start at 1 again. Skips those in which nothing was stored, because each takes a while on
 * the embedded database.
 */
export async function truncate(db: Database, tables: string): Promise<void> {
  await sql(
    db,
    `DO $$
     DECLARE
       name text; has_rows boolean; used text[] := '{}';
     BEGIN
       FOREACH name IN ARRAY '{${tables}}'::text[] LOOP
         EXECUTE 'SELECT EXISTS (SELECT FROM ' || name || ')' INTO has_rows;
         IF has_rows OR EXISTS (
           SELECT FROM pg_depend JOIN pg_sequence ON seqrelid = objid
           WHERE refobjid = name::regclass AND pg_sequence_last_value(seqrelid) IS NOT NULL
         ) THEN used := used || name; END IF;
       END LOOP;
       IF cardinality(used) > 0 THEN
         EXECUTE 'TRUNCATE ' || array_to_string(used, ', ') || ' RESTART IDENTITY CASCADE';
       END IF;
     END $$`,
  );
}

/** The planner's own estimate of the number of logs. */
export async function plannersEstimate(db: Database): Promise<number> {
  type Explained = [{ Plan: { 'Plan Rows': number } }];
  const [row] = await sql<{ 'QUERY PLAN': string | Explained }>(
    db,
    'EXPLAIN (FORMAT JSON) SELECT FROM execution_logs',
  );
  const plan = row?.['QUERY PLAN'] ?? '[]';
  const [explained]: Explained = typeof plan === 'string' ? JSON.parse(plan) : plan;
  return explained.Plan['Plan Rows'];
}
