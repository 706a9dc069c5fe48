-- Exact figures that a scan would be too slow for, kept up to date by whoever writes, in any program.
--
-- A summary may hold several rows for one key; its figure is their sum. A writer adds to a row that
-- nobody holds locked or else starts a new one, so two writers with open transactions never wait for
-- each other. A row can only be taken over under READ COMMITTED, where a statement sees what was
-- committed before it; a transaction of a stricter level starts rows of its own.
--
-- Each trigger function reads the rows of its statement as changed_rows and takes their sign, 1 or -1,
-- as its argument; an UPDATE fires it twice, once with each. It runs with its owner's rights, so that a
-- writer needs none on the summaries.
CREATE OR REPLACE FUNCTION summary_rows_are_shared() RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT current_setting('transaction_isolation') IN ('read committed', 'read uncommitted')
$$;
--> statement-breakpoint
-- Logs by run, level and hour. 4294967296, which no run has for an id, stands for logs of no run.
CREATE OR REPLACE FUNCTION count_execution_logs() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    DELETE FROM execution_log_counts;
    RETURN NULL;
  END IF;

  WITH changed AS (
    SELECT coalesce(run_id::bigint, 4294967296) AS run_key,
           lower(coalesce(level, '')) AS level,
           date_trunc('hour', created_at, 'UTC') AS hour,
           TG_ARGV[0]::int * count(*) AS change
    FROM changed_rows
    GROUP BY 1, 2, 3
  ), placed AS MATERIALIZED (
    SELECT changed.*, free.id
    FROM changed LEFT JOIN LATERAL (
      SELECT summary.id FROM execution_log_counts AS summary
      WHERE summary.run_key = changed.run_key AND summary.level = changed.level
        AND summary.hour = changed.hour
        AND summary_rows_are_shared()
      LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS free ON true
  ), added AS (
    UPDATE execution_log_counts AS summary SET log_count = summary.log_count + placed.change
    FROM placed WHERE summary.id = placed.id
  )
  INSERT INTO execution_log_counts (run_key, level, hour, log_count)
  SELECT run_key, level, hour, change FROM placed WHERE id IS NULL;

  -- Old logs are deleted some day; rows that count nothing any more go with them.
  IF TG_OP = 'DELETE' AND summary_rows_are_shared() THEN
    DELETE FROM execution_log_counts WHERE id IN (
      SELECT id FROM execution_log_counts
      WHERE log_count = 0 AND (run_key, level, hour) IN (
        SELECT coalesce(run_id::bigint, 4294967296), lower(coalesce(level, '')),
               date_trunc('hour', created_at, 'UTC')
        FROM changed_rows
      )
      FOR UPDATE SKIP LOCKED
    );
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Bytes of archives by run.
CREATE OR REPLACE FUNCTION sum_backup_results() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    DELETE FROM backup_result_totals;
    RETURN NULL;
  END IF;

  WITH changed AS (
    SELECT coalesce(run_id::bigint, 4294967296) AS run_key,
           TG_ARGV[0]::int * sum(coalesce(archive_size_bytes, 0)) AS change
    FROM changed_rows
    GROUP BY 1
  ), placed AS MATERIALIZED (
    SELECT changed.*, free.id
    FROM changed LEFT JOIN LATERAL (
      SELECT summary.id FROM backup_result_totals AS summary
      WHERE summary.run_key = changed.run_key
        AND summary_rows_are_shared()
      LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS free ON true
  ), added AS (
    UPDATE backup_result_totals AS summary SET archive_size_bytes = summary.archive_size_bytes + placed.change
    FROM placed WHERE summary.id = placed.id
  )
  INSERT INTO backup_result_totals (run_key, archive_size_bytes)
  SELECT run_key, change FROM placed WHERE id IS NULL;

  -- A run that was deleted leaves no total behind.
  IF TG_OP = 'DELETE' AND summary_rows_are_shared() THEN
    DELETE FROM backup_result_totals WHERE id IN (
      SELECT id FROM backup_result_totals
      WHERE archive_size_bytes = 0 AND run_key IN (
        SELECT coalesce(run_id::bigint, 4294967296) FROM changed_rows
      )
      FOR UPDATE SKIP LOCKED
    );
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE TRIGGER count_execution_logs_added AFTER INSERT ON execution_logs
  REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION count_execution_logs('1');
CREATE OR REPLACE TRIGGER count_execution_logs_removed AFTER DELETE ON execution_logs
  REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION count_execution_logs('-1');
CREATE OR REPLACE TRIGGER count_execution_logs_changed_to AFTER UPDATE ON execution_logs
  REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION count_execution_logs('1');
CREATE OR REPLACE TRIGGER count_execution_logs_changed_from AFTER UPDATE ON execution_logs
  REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION count_execution_logs('-1');
CREATE OR REPLACE TRIGGER count_execution_logs_truncated AFTER TRUNCATE ON execution_logs
  FOR EACH STATEMENT EXECUTE FUNCTION count_execution_logs();
--> statement-breakpoint
CREATE OR REPLACE TRIGGER sum_backup_results_added AFTER INSERT ON backup_results
  REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION sum_backup_results('1');
CREATE OR REPLACE TRIGGER sum_backup_results_removed AFTER DELETE ON backup_results
  REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION sum_backup_results('-1');
CREATE OR REPLACE TRIGGER sum_backup_results_changed_to AFTER UPDATE ON backup_results
  REFERENCING NEW TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION sum_backup_results('1');
CREATE OR REPLACE TRIGGER sum_backup_results_changed_from AFTER UPDATE ON backup_results
  REFERENCING OLD TABLE AS changed_rows FOR EACH STATEMENT EXECUTE FUNCTION sum_backup_results('-1');
CREATE OR REPLACE TRIGGER sum_backup_results_truncated AFTER TRUNCATE ON backup_results
  FOR EACH STATEMENT EXECUTE FUNCTION sum_backup_results();
--> statement-breakpoint
-- The triggers above hold writers off until this migration commits, so nothing is missed or counted
-- twice.
DELETE FROM execution_log_counts;
INSERT INTO execution_log_counts (run_key, level, hour, log_count)
SELECT coalesce(run_id::bigint, 4294967296), lower(coalesce(level, '')),
       date_trunc('hour', created_at, 'UTC'), count(*)
FROM execution_logs GROUP BY 1, 2, 3;
DELETE FROM backup_result_totals;
INSERT INTO backup_result_totals (run_key, archive_size_bytes)
SELECT coalesce(run_id::bigint, 4294967296), sum(coalesce(archive_size_bytes, 0))
FROM backup_results GROUP BY 1;
