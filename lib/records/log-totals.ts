/** Below this many rows the number of all logs is exact (spec 1, Limits). */
const EXACT_BELOW = 10_000;

/**
 * How many rows the planner of Postgres supposes on a page of execution_logs when nothing was ever
 * analysed: it derives the width of a row from the types of the columns.
 */
const ROWS_PER_UNKNOWN_PAGE = 56;

/**
 * SQL for the number of all logs: exact below 10,000, above that the planner's row estimate, worked out
 * as the planner does it, from the density of rows last seen and the table's present size (spec 1,
 * DashboardStats; decisions 4).
 */
export const allLogsTotal = `
  SELECT CASE WHEN counted.rows < ${EXACT_BELOW} THEN counted.rows ELSE (
    SELECT greatest(${EXACT_BELOW}, round(
      pg_relation_size(oid) / current_setting('block_size')::int
      * CASE WHEN reltuples >= 0 AND relpages > 0 THEN reltuples::float8 / relpages
             ELSE ${ROWS_PER_UNKNOWN_PAGE} END))::bigint
    FROM pg_class WHERE oid = 'execution_logs'::regclass
  ) END
  FROM (
    SELECT count(*) AS rows FROM (SELECT FROM execution_logs LIMIT ${EXACT_BELOW}) AS first
  ) AS counted`;
