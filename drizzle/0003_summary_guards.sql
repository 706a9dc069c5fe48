-- What could make a summary wrong in silence.
--
-- A data-only restore brings summary rows along, and the rows that they sum up, which the triggers count
-- again. So a summary takes only what its own triggers insert.
CREATE OR REPLACE FUNCTION ignore_summary_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER ignore_counts_of_others BEFORE INSERT ON execution_log_counts
  FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION ignore_summary_row();
CREATE OR REPLACE TRIGGER ignore_totals_of_others BEFORE INSERT ON backup_result_totals
  FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION ignore_summary_row();
CREATE OR REPLACE TRIGGER ignore_newest_of_others BEFORE INSERT ON newest_results
  FOR EACH ROW WHEN (pg_trigger_depth() = 0) EXECUTE FUNCTION ignore_summary_row();
--> statement-breakpoint
-- A session that takes the part of a replica fires no ordinary trigger.
ALTER TABLE execution_logs ENABLE ALWAYS TRIGGER count_added_logs;
ALTER TABLE execution_logs ENABLE ALWAYS TRIGGER count_changed_logs;
ALTER TABLE execution_logs ENABLE ALWAYS TRIGGER count_removed_logs;
ALTER TABLE execution_logs ENABLE ALWAYS TRIGGER count_no_logs;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER sum_added_results;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER sum_changed_results;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER sum_removed_results;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER sum_no_results;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER keep_newest_results_added;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER keep_newest_results_changed;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER keep_newest_results_removed;
ALTER TABLE backup_results ENABLE ALWAYS TRIGGER keep_newest_results_truncated;
ALTER TABLE execution_log_counts ENABLE ALWAYS TRIGGER ignore_counts_of_others;
ALTER TABLE backup_result_totals ENABLE ALWAYS TRIGGER ignore_totals_of_others;
ALTER TABLE newest_results ENABLE ALWAYS TRIGGER ignore_newest_of_others;
