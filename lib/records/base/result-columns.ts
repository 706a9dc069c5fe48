import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { iso } from './page.ts';

const columnsWith = (errorMessage: string) => `
  id, run_id, repo_full_name, status, ${iso('created_at')} AS created_at,
  coalesce(duration_ms, 0) AS duration_ms, coalesce(commit_hash, '') AS commit_hash,
  coalesce(archive_size_bytes, 0) AS archive_size_bytes, ${errorMessage} AS error_message,
  incomplete, tries`;

/** The columns of a BackupResult in order. */
export const resultColumns = columnsWith(`coalesce(error_message, '')`);

/** The same, with the error message cut to `maxLength` characters. */
export const boundedResultColumns = (maxLength: number) =>
  columnsWith(cutTextSql('error_message', maxLength));
