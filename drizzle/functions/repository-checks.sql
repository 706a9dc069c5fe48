-- Keeps repository_checks: when runs found each repository good. Whoever changes the time in worker_repo_state holds the
-- lock on its row, so no two writers change the checks of a repository at once.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

CREATE OR REPLACE FUNCTION keep_repository_check() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  newest record;
BEGIN
  SELECT id, until INTO newest FROM repository_checks AS kept
  WHERE kept.repo_full_name = NEW.repo_full_name ORDER BY kept.until DESC LIMIT 1;
  IF newest.id IS NULL OR NEW.checked_at > newest.until + interval '1 hour' THEN
    INSERT INTO repository_checks (repo_full_name, since, until)
    VALUES (NEW.repo_full_name, NEW.checked_at, NEW.checked_at);
    DELETE FROM repository_checks
    WHERE repo_full_name = NEW.repo_full_name AND until < NEW.checked_at - interval '100 days';
  ELSIF NEW.checked_at > newest.until THEN
    UPDATE repository_checks SET until = NEW.checked_at WHERE id = newest.id;
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER keep_repository_check AFTER UPDATE OF checked_at ON worker_repo_state
  FOR EACH ROW WHEN (NEW.checked_at IS DISTINCT FROM OLD.checked_at AND isfinite(NEW.checked_at))
  EXECUTE FUNCTION keep_repository_check();
