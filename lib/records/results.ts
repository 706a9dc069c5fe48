import { iso } from './page.ts';

/** The fields of a BackupResult in their order (spec 1, Resources). */
export const resultColumns = `
  id, run_id, repo_full_name, status, ${iso('created_at')} AS created_at,
  coalesce(duration_ms, 0) AS duration_ms, coalesce(commit_hash, '') AS commit_hash,
  coalesce(archive_size_bytes, 0) AS archive_size_bytes,
  coalesce(error_message, '') AS error_message`;
