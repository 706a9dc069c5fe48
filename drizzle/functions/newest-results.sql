-- The newest result of each repository, maintained like the other summaries (summaries.sql): all writers
-- update it, and none waits for another. A row holds the newest result that its writers inserted. A writer
-- overwrites a row that nobody else has locked or else adds a new one, so a repository may have several rows.
-- Keys (created_at, result_id) only grow, so the highest is at least as new as every result. A writer that
-- changes or deletes a result marks its row stale, in place or with a new row of the same key. So the highest
-- row either holds the newest result or is stale, in which case readers query backup_results. Thousands of
-- results of one repository, inserted one by one in one transaction, are slow, because each leaves a dead
-- version of the row behind; no worker does that.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

CREATE OR REPLACE FUNCTION keep_newest_results() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  -- A transaction of a stricter isolation level cannot lock rows written since it began, so it only adds
  -- rows.
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
      -- With a stricter level, reading here would cause conflicts.
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
      -- Another transaction may have committed a newer one before it was locked here.
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

-- Sessions in replica mode fire only ALWAYS triggers.
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER keep_newest_results_added;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER keep_newest_results_changed;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER keep_newest_results_removed;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER keep_newest_results_truncated;
ALTER TABLE newest_results ENABLE ALWAYS TRIGGER ignore_newest_of_others;
