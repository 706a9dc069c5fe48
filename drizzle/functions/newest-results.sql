-- The newest result of each repository, kept as the other summaries are (summaries.sql): no writer
-- waits for another, and whoever writes feeds it.
--
-- A row holds the newest result that its writers inserted. A writer overwrites a row that nobody else
-- holds locked or else starts a new one, so a repository may have several; keys (created_at, result_id)
-- only grow, so the highest is at least as new as every result there is. A writer that changes or deletes
-- a result that a row holds marks it stale, in place or with a new row of the same key. So the highest
-- row either holds the newest result or is stale, and then the reader asks backup_results. Thousands of
-- results of one repository, one by one in one transaction, are slow, because each leaves a dead version of
-- its row behind; no worker writes so.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

CREATE OR REPLACE FUNCTION keep_newest_results() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  -- A transaction of a stricter level cannot lock what was written since it began, and only adds.
  takes_over CONSTANT boolean := current_setting('transaction_isolation') LIKE 'read %';
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    -- A snapshot of a stricter level is older than this statement's lock and may miss rows.
    IF takes_over THEN DELETE FROM newest_results; ELSE TRUNCATE newest_results; END IF;
    RETURN NULL;
  END IF;

  IF TG_OP IN ('INSERT', 'UPDATE') THEN
    WITH newest AS (
      SELECT DISTINCT ON (repo_full_name) repo_full_name, created_at, id, status, commit_hash,
        archive_size_bytes
      FROM added_rows WHERE repo_full_name IS NOT NULL -- as old tables allow
      ORDER BY repo_full_name, created_at DESC, id DESC
    ), newer AS MATERIALIZED (
      -- A stricter level would make a conflict of what it reads here.
      SELECT * FROM newest WHERE NOT takes_over OR NOT EXISTS (
        SELECT FROM newest_results AS kept WHERE kept.repo_full_name = newest.repo_full_name
          AND (kept.created_at, kept.result_id) >= (newest.created_at, newest.id)
      )
    ), free AS MATERIALIZED (
      SELECT kept.id, kept.repo_full_name, kept.created_at, kept.result_id
      FROM newer JOIN newest_results AS kept USING (repo_full_name)
      WHERE takes_over FOR UPDATE OF kept SKIP LOCKED
    ), place AS (
      SELECT DISTINCT ON (repo_full_name) id, repo_full_name, created_at, result_id
      FROM free ORDER BY repo_full_name, created_at DESC, result_id DESC
    ), overwritten AS (
      UPDATE newest_results AS kept SET created_at = newer.created_at, result_id = newer.id,
        status = newer.status, commit_hash = newer.commit_hash,
        archive_size_bytes = newer.archive_size_bytes, stale = false
      FROM newer JOIN place USING (repo_full_name)
      -- Somebody may have committed a newer one before it was locked here.
      WHERE kept.id = place.id
        AND (place.created_at, place.result_id) < (newer.created_at, newer.id)
      RETURNING kept.id, kept.repo_full_name
    ), joined AS (
      DELETE FROM newest_results AS kept USING free JOIN overwritten USING (repo_full_name)
      WHERE kept.id = free.id AND free.id <> overwritten.id
    )
    INSERT INTO newest_results
      (repo_full_name, created_at, result_id, status, commit_hash, archive_size_bytes)
    SELECT repo_full_name, created_at, id, status, commit_hash, archive_size_bytes FROM newer
    WHERE repo_full_name NOT IN (SELECT repo_full_name FROM place);
  END IF;

  IF TG_OP IN ('DELETE', 'UPDATE') THEN
    WITH gone AS MATERIALIZED (
      SELECT kept.id, kept.repo_full_name, kept.created_at, kept.result_id
      FROM removed_rows JOIN newest_results AS kept
        ON kept.repo_full_name = removed_rows.repo_full_name AND kept.result_id = removed_rows.id
      WHERE NOT kept.stale
    ), free AS MATERIALIZED (
      SELECT kept.id FROM gone JOIN newest_results AS kept USING (id)
      WHERE takes_over FOR UPDATE OF kept SKIP LOCKED
    ), marked AS (
      UPDATE newest_results AS kept SET stale = true FROM free WHERE kept.id = free.id
    )
    INSERT INTO newest_results (repo_full_name, created_at, result_id, stale)
    SELECT repo_full_name, created_at, result_id, true FROM gone
    WHERE id NOT IN (SELECT id FROM free);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER keep_newest_results_added AFTER INSERT ON backup_results
  REFERENCING NEW TABLE AS added_rows FOR EACH STATEMENT EXECUTE FUNCTION keep_newest_results();
CREATE OR REPLACE TRIGGER keep_newest_results_removed AFTER DELETE ON backup_results
  REFERENCING OLD TABLE AS removed_rows FOR EACH STATEMENT EXECUTE FUNCTION keep_newest_results();
CREATE OR REPLACE TRIGGER keep_newest_results_changed AFTER UPDATE ON backup_results
  REFERENCING OLD TABLE AS removed_rows NEW TABLE AS added_rows
  FOR EACH STATEMENT EXECUTE FUNCTION keep_newest_results();
CREATE OR REPLACE TRIGGER keep_newest_results_truncated AFTER TRUNCATE ON backup_results
  FOR EACH STATEMENT EXECUTE FUNCTION keep_newest_results();

CREATE OR REPLACE TRIGGER ignore_newest_of_others BEFORE INSERT ON newest_results
  FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION ignore_summary_row();

-- A session that takes the part of a replica fires no ordinary trigger.
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER keep_newest_results_added;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER keep_newest_results_changed;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER keep_newest_results_removed;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER keep_newest_results_truncated;
ALTER TABLE newest_results ENABLE ALWAYS TRIGGER ignore_newest_of_others;
