-- The ledger of restore drills: rows are only ever added, and each has the hash of the one before it, so that one that
-- is changed or taken out of the middle is noticed (docs/restore-drills.md, lib/drills/ledger-hash.ts). The signed
-- statements about them are only ever added, too.
SELECT set_config('search_path', quote_ident(current_schema()) || ', pg_temp', true);

-- What is hashed of a row: each field as a line `name:bytes:value`, or `name:-` for none. The length makes it
-- unambiguous, whatever a value contains.
CREATE OR REPLACE FUNCTION restore_drill_text(drill restore_drills) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT string_agg(
    CASE WHEN value IS NULL THEN name || ':-' ELSE name || ':' || octet_length(convert_to(value, 'UTF8')) || ':' || value END
      || E'\n',
    '' ORDER BY place)
  FROM (VALUES
    (1, 'previous_sha256', drill.previous_sha256),
    (2, 'id', drill.id::text),
    (3, 'repository_name', drill.repository_name),
    (4, 'version', drill.version::text),
    (5, 'storage', drill.storage),
    (6, 'started_at', to_char(drill.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')),
    (7, 'duration_ms', drill.duration_ms::text),
    (8, 'bytes', drill.bytes::text),
    (9, 'outcome', drill.outcome),
    (10, 'reason', drill.reason),
    (11, 'evidence', drill.evidence::text)
  ) AS field (place, name, value)
$$;

-- Links a new row to the last one. One writer at a time, until its transaction ends: each links to what the one before
-- it has committed. A transaction of a stricter isolation level cannot see that, and fails at the index instead.
CREATE OR REPLACE FUNCTION chain_restore_drill() RETURNS trigger
LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
  last record;
BEGIN
  PERFORM pg_advisory_xact_lock(7205759403794);
  -- A row that brings its hash is a copy from another database, and stays what it was there.
  IF NEW.sha256 IS NOT NULL THEN
    RETURN NEW;
  END IF;
  SELECT id, sha256 INTO last FROM restore_drills ORDER BY id DESC LIMIT 1;
  -- Whoever took the lock first may have taken its id last, and copied rows bring theirs.
  IF NEW.id <= last.id THEN
    NEW.id := setval(pg_get_serial_sequence('restore_drills', 'id'), last.id + 1);
  END IF;
  NEW.previous_sha256 := coalesce(last.sha256, repeat('0', 64));
  NEW.sha256 := encode(sha256(convert_to(restore_drill_text(NEW), 'UTF8')), 'hex');
  RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION refuse_restore_drill_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: % is refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END $$;

CREATE OR REPLACE TRIGGER chain_restore_drill BEFORE INSERT ON restore_drills
  FOR EACH ROW EXECUTE FUNCTION chain_restore_drill();
CREATE OR REPLACE TRIGGER refuse_restore_drill_change BEFORE UPDATE OR DELETE ON restore_drills
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_restore_drill_change();
CREATE OR REPLACE TRIGGER refuse_restore_drill_truncation BEFORE TRUNCATE ON restore_drills
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_restore_drill_change();

-- Sessions in replica mode fire only ALWAYS triggers.
ALTER TABLE restore_drills ENABLE ALWAYS TRIGGER chain_restore_drill;
ALTER TABLE restore_drills ENABLE ALWAYS TRIGGER refuse_restore_drill_change;
ALTER TABLE restore_drills ENABLE ALWAYS TRIGGER refuse_restore_drill_truncation;

CREATE OR REPLACE TRIGGER refuse_drill_statement_change BEFORE UPDATE OR DELETE ON drill_statements
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_restore_drill_change();
CREATE OR REPLACE TRIGGER refuse_drill_statement_truncation BEFORE TRUNCATE ON drill_statements
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_restore_drill_change();
ALTER TABLE drill_statements ENABLE ALWAYS TRIGGER refuse_drill_statement_change;
ALTER TABLE drill_statements ENABLE ALWAYS TRIGGER refuse_drill_statement_truncation;
