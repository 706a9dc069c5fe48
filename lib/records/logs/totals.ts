/** Below this many rows the total number of logs is exact. */
const EXACT_BELOW = 10_000;

/**
 * The rows per page that Postgres's planner assumes for execution_logs before the first ANALYZE, derived
 * from the column types.
 */
const ROWS_PER_UNKNOWN_PAGE = 56;

/**
 * SQL for the total number of logs: exact below 10,000, otherwise the planner's row estimate, computed like
 * the planner does from the last known row density and the current table size.
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
