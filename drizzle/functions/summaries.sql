-- Exact totals that would be too slow to compute with a scan, kept up to date by triggers for all writers. A
-- summary may have several rows for one key; the total is their sum. A writer adds to a row that nobody else
-- has locked or else adds a new one, so writers with open transactions never wait for each other. A writer
-- that finds several unlocked rows of a key merges them. This requires READ COMMITTED, where a statement sees
-- what was committed before it. A transaction of a stricter isolation level only adds its own rows, and reads
-- none, to avoid conflicts. A transaction that writes row by row leaves a dead version of its summary row at
-- each step, and would scan all of them to find the last. So it stores the location (ctid) of the last one in
-- a setting that ends with the transaction and is restored with a savepoint. Statements with many keys use
-- sets. The trigger functions run with their owner's rights, so that writers need none on the summaries.
-- Their search_path is only this schema, so that writers cannot shadow a summary.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- Adds a change to the count of one run, level and hour.
CREATE OR REPLACE FUNCTION add_to_log_count(
  changed_run bigint, changed_level text, changed_hour timestamptz, change bigint
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  place_setting CONSTANT text := 'backup_observatory.log_count_'
    || (hashtextextended(changed_level, changed_run) & 15);
  place tid := nullif(current_setting(place_setting, true), '')::tid;
  free bigint[];
  counted bigint;
BEGIN
  IF place IS NOT NULL THEN
    UPDATE execution_log_counts SET log_count = log_count + change
    WHERE ctid = place AND run_key = changed_run AND level = changed_level AND hour = changed_hour
    RETURNING ctid, log_count INTO place, counted;
  END IF;

  IF place IS NULL AND current_setting('transaction_isolation') LIKE 'read %' THEN
    SELECT array_agg(summary.id), sum(summary.log_count) + change INTO free, counted
    FROM (
      SELECT id, log_count FROM execution_log_counts
      WHERE run_key = changed_run AND level = changed_level AND hour = changed_hour
      LIMIT 16 FOR UPDATE SKIP LOCKED
    ) AS summary;
    UPDATE execution_log_counts SET log_count = counted WHERE id = free[1] RETURNING ctid INTO place;
    IF cardinality(free) > 1 THEN
      DELETE FROM execution_log_counts WHERE id = ANY (free[2:]);
    END IF;
  END IF;

  IF place IS NULL THEN
    INSERT INTO execution_log_counts (run_key, level, hour, log_count)
    VALUES (changed_run, changed_level, changed_hour, change) RETURNING ctid INTO place;
  ELSIF counted = 0 THEN
    DELETE FROM execution_log_counts WHERE ctid = place;
  END IF;
  PERFORM set_config(place_setting, place::text, true);
END $$;

-- Adds changes to the counts of many runs, levels and hours, each given once.
CREATE OR REPLACE FUNCTION add_to_log_counts(
  runs bigint[], levels text[], hours timestamptz[], changes bigint[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  emptied bigint[];
BEGIN
  IF current_setting('transaction_isolation') NOT LIKE 'read %' THEN
    INSERT INTO execution_log_counts (run_key, level, hour, log_count)
    SELECT * FROM unnest(runs, levels, hours, changes);
    RETURN;
  END IF;

  WITH placed AS MATERIALIZED (
    SELECT changed.*, free.id
    FROM unnest(runs, levels, hours, changes) AS changed (run_key, level, hour, change)
    LEFT JOIN LATERAL (
      SELECT summary.id FROM execution_log_counts AS summary
      WHERE summary.run_key = changed.run_key AND summary.level = changed.level
        AND summary.hour = changed.hour
      LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS free ON true
  ), started AS (
    INSERT INTO execution_log_counts (run_key, level, hour, log_count)
    SELECT run_key, level, hour, change FROM placed WHERE id IS NULL
  ), added AS (
    UPDATE execution_log_counts AS summary SET log_count = summary.log_count + placed.change
    FROM placed WHERE summary.id = placed.id
    RETURNING summary.id, summary.log_count
  )
  SELECT array_agg(id) INTO emptied FROM added WHERE log_count = 0;
  IF emptied IS NOT NULL THEN
    DELETE FROM execution_log_counts WHERE id = ANY (emptied);
  END IF;
END $$;

-- Logs by run, level and hour. Logs without a run count under 4294967296, which is not a valid id.
CREATE OR REPLACE FUNCTION count_execution_logs() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  runs bigint[];
  levels text[];
  hours timestamptz[];
  changes bigint[];
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    -- A snapshot of a stricter level is older than this statement's lock and may miss rows.
    IF current_setting('transaction_isolation') LIKE 'read %' THEN
      DELETE FROM execution_log_counts;
    ELSE
      TRUNCATE execution_log_counts;
    END IF;
    RETURN NULL;
  ELSIF TG_OP = 'INSERT' THEN
    SELECT array_agg(run), array_agg(level), array_agg(hour), array_agg(change)
    INTO runs, levels, hours, changes FROM (
      SELECT coalesce(run_id::bigint, 4294967296) AS run, lower(coalesce(level, '')) AS level,
             date_trunc('hour', created_at, 'UTC') AS hour, count(*) AS change
      FROM added_rows GROUP BY 1, 2, 3
    ) AS changed;
  ELSIF TG_OP = 'DELETE' THEN
    SELECT array_agg(run), array_agg(level), array_agg(hour), array_agg(-change)
    INTO runs, levels, hours, changes FROM (
      SELECT coalesce(run_id::bigint, 4294967296) AS run, lower(coalesce(level, '')) AS level,
             date_trunc('hour', created_at, 'UTC') AS hour, count(*) AS change
      FROM removed_rows GROUP BY 1, 2, 3
    ) AS changed;
  ELSE
    SELECT array_agg(run), array_agg(level), array_agg(hour), array_agg(change)
    INTO runs, levels, hours, changes FROM (
      SELECT coalesce(run_id::bigint, 4294967296) AS run, lower(coalesce(level, '')) AS level,
             date_trunc('hour', created_at, 'UTC') AS hour, sum(sign) AS change
      FROM (
        SELECT run_id, level, created_at, 1 AS sign FROM added_rows
        UNION ALL SELECT run_id, level, created_at, -1 FROM removed_rows
      ) AS either GROUP BY 1, 2, 3 HAVING sum(sign) <> 0
    ) AS changed;
  END IF;

  IF cardinality(runs) > 16 THEN
    PERFORM add_to_log_counts(runs, levels, hours, changes);
  ELSE
    FOR n IN 1..coalesce(cardinality(runs), 0) LOOP
      PERFORM add_to_log_count(runs[n], levels[n], hours[n], changes[n]);
    END LOOP;
  END IF;
  RETURN NULL;
END $$;

-- Adds a change to the total of one run.
CREATE OR REPLACE FUNCTION add_to_result_total(changed_run bigint, change numeric)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  place_setting CONSTANT text := 'backup_observatory.result_total_' || (changed_run & 15);
  place tid := nullif(current_setting(place_setting, true), '')::tid;
  free bigint[];
  total numeric;
BEGIN
  IF place IS NOT NULL THEN
    UPDATE backup_result_totals SET archive_size_bytes = archive_size_bytes + change
    WHERE ctid = place AND run_key = changed_run
    RETURNING ctid, archive_size_bytes INTO place, total;
  END IF;

  IF place IS NULL AND current_setting('transaction_isolation') LIKE 'read %' THEN
    SELECT array_agg(summary.id), sum(summary.archive_size_bytes) + change INTO free, total
    FROM (
      SELECT id, archive_size_bytes FROM backup_result_totals
      WHERE run_key = changed_run LIMIT 16 FOR UPDATE SKIP LOCKED
    ) AS summary;
    UPDATE backup_result_totals SET archive_size_bytes = total WHERE id = free[1]
    RETURNING ctid INTO place;
    IF cardinality(free) > 1 THEN
      DELETE FROM backup_result_totals WHERE id = ANY (free[2:]);
    END IF;
  END IF;

  IF place IS NULL THEN
    INSERT INTO backup_result_totals (run_key, archive_size_bytes)
    VALUES (changed_run, change) RETURNING ctid INTO place;
  ELSIF total = 0 THEN
    DELETE FROM backup_result_totals WHERE ctid = place;
  END IF;
  PERFORM set_config(place_setting, place::text, true);
END $$;

-- Adds changes to the totals of many runs, each given once.
CREATE OR REPLACE FUNCTION add_to_result_totals(runs bigint[], changes numeric[])
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  emptied bigint[];
BEGIN
  IF current_setting('transaction_isolation') NOT LIKE 'read %' THEN
    INSERT INTO backup_result_totals (run_key, archive_size_bytes)
    SELECT * FROM unnest(runs, changes);
    RETURN;
  END IF;

  WITH placed AS MATERIALIZED (
    SELECT changed.*, free.id
    FROM unnest(runs, changes) AS changed (run_key, change)
    LEFT JOIN LATERAL (
      SELECT summary.id FROM backup_result_totals AS summary
      WHERE summary.run_key = changed.run_key
      LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS free ON true
  ), started AS (
    INSERT INTO backup_result_totals (run_key, archive_size_bytes)
    SELECT run_key, change FROM placed WHERE id IS NULL
  ), added AS (
    UPDATE backup_result_totals AS summary
    SET archive_size_bytes = summary.archive_size_bytes + placed.change
    FROM placed WHERE summary.id = placed.id
    RETURNING summary.id, summary.archive_size_bytes
  )
  SELECT array_agg(id) INTO emptied FROM added WHERE archive_size_bytes = 0;
  IF emptied IS NOT NULL THEN
    DELETE FROM backup_result_totals WHERE id = ANY (emptied);
  END IF;
END $$;

-- Bytes of archives by run.
CREATE OR REPLACE FUNCTION sum_backup_results() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  runs bigint[];
  changes numeric[];
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    IF current_setting('transaction_isolation') LIKE 'read %' THEN
      DELETE FROM backup_result_totals;
    ELSE
      TRUNCATE backup_result_totals;
    END IF;
    RETURN NULL;
  ELSIF TG_OP = 'INSERT' THEN
    SELECT array_agg(run), array_agg(change) INTO runs, changes FROM (
      SELECT coalesce(run_id::bigint, 4294967296) AS run, sum(archive_size_bytes) AS change
      FROM added_rows GROUP BY 1
    ) AS changed WHERE change <> 0;
  ELSIF TG_OP = 'DELETE' THEN
    SELECT array_agg(run), array_agg(-change) INTO runs, changes FROM (
      SELECT coalesce(run_id::bigint, 4294967296) AS run, sum(archive_size_bytes) AS change
      FROM removed_rows GROUP BY 1
    ) AS changed WHERE change <> 0;
  ELSE
    SELECT array_agg(run), array_agg(change) INTO runs, changes FROM (
      SELECT coalesce(run_id::bigint, 4294967296) AS run, sum(bytes) AS change
      FROM (
        SELECT run_id, archive_size_bytes::numeric AS bytes FROM added_rows
        UNION ALL SELECT run_id, -archive_size_bytes::numeric FROM removed_rows
      ) AS either GROUP BY 1
    ) AS changed WHERE change <> 0;
  END IF;

  IF cardinality(runs) > 16 THEN
    PERFORM add_to_result_totals(runs, changes);
  ELSE
    FOR n IN 1..coalesce(cardinality(runs), 0) LOOP
      PERFORM add_to_result_total(runs[n], changes[n]);
    END LOOP;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER count_added_logs AFTER INSERT ON execution_logs
  REFERENCING NEW TABLE AS added_rows FOR EACH STATEMENT EXECUTE FUNCTION count_execution_logs();
CREATE OR REPLACE TRIGGER count_changed_logs AFTER UPDATE ON execution_logs
  REFERENCING OLD TABLE AS removed_rows NEW TABLE AS added_rows
  FOR EACH STATEMENT EXECUTE FUNCTION count_execution_logs();
CREATE OR REPLACE TRIGGER count_removed_logs AFTER DELETE ON execution_logs
  REFERENCING OLD TABLE AS removed_rows FOR EACH STATEMENT EXECUTE FUNCTION count_execution_logs();
CREATE OR REPLACE TRIGGER count_no_logs AFTER TRUNCATE ON execution_logs
  FOR EACH STATEMENT EXECUTE FUNCTION count_execution_logs();

CREATE OR REPLACE TRIGGER sum_added_results AFTER INSERT ON backup_results
  REFERENCING NEW TABLE AS added_rows FOR EACH STATEMENT EXECUTE FUNCTION sum_backup_results();
CREATE OR REPLACE TRIGGER sum_changed_results AFTER UPDATE ON backup_results
  REFERENCING OLD TABLE AS removed_rows NEW TABLE AS added_rows
  FOR EACH STATEMENT EXECUTE FUNCTION sum_backup_results();
CREATE OR REPLACE TRIGGER sum_removed_results AFTER DELETE ON backup_results
  REFERENCING OLD TABLE AS removed_rows FOR EACH STATEMENT EXECUTE FUNCTION sum_backup_results();
CREATE OR REPLACE TRIGGER sum_no_results AFTER TRUNCATE ON backup_results
  FOR EACH STATEMENT EXECUTE FUNCTION sum_backup_results();

-- Cases that could silently make a summary wrong. A data-only restore contains summary rows as well as the
-- rows that they summarize, which the triggers count again. So summaries only accept rows inserted by their
-- own triggers.
CREATE OR REPLACE FUNCTION ignore_summary_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER ignore_counts_of_others BEFORE INSERT ON execution_log_counts
  FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION ignore_summary_row();
CREATE OR REPLACE TRIGGER ignore_totals_of_others BEFORE INSERT ON backup_result_totals
  FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION ignore_summary_row();

-- Sessions in replica mode fire only ALWAYS triggers.
ALTER TABLE execution_logs ENABLE ALWAYS TRIGGER count_added_logs;
ALTER TABLE execution_logs ENABLE ALWAYS TRIGGER count_changed_logs;
ALTER TABLE execution_logs ENABLE ALWAYS TRIGGER count_removed_logs;
ALTER TABLE execution_logs ENABLE ALWAYS TRIGGER count_no_logs;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER sum_added_results;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER sum_changed_results;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER sum_removed_results;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER sum_no_results;
ALTER TABLE execution_log_counts ENABLE ALWAYS TRIGGER ignore_counts_of_others;
ALTER TABLE backup_result_totals ENABLE ALWAYS TRIGGER ignore_totals_of_others;
