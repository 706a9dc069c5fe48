import type { Database, Statement } from '../../database/database.ts';

/** A new analytics snapshot; the keys are column names. */
export interface NewSnapshot {
  head_commit: string;
  head_commit_message: string;
  /** ISO 8601; null when there is no commit. */
  head_commit_at: string | null;
  total_commits: number;
  branch_count: number;
  tag_count: number;
  tracked_files: number;
  total_blob_size_bytes: number;
  avg_blob_size_bytes: number;
  largest_blob_path: string;
  largest_blob_size_bytes: number;
  archive_count: number;
  total_archive_size_bytes: number;
  avg_archive_size_bytes: number;
  largest_archive_path: string;
  largest_archive_size_bytes: number;
}

const columns = {
  head_commit: 'text',
  head_commit_message: 'text',
  head_commit_at: 'timestamptz',
  total_commits: 'int',
  branch_count: 'int',
  tag_count: 'int',
  tracked_files: 'int',
  total_blob_size_bytes: 'bigint',
  avg_blob_size_bytes: 'bigint',
  largest_blob_path: 'text',
  largest_blob_size_bytes: 'bigint',
  archive_count: 'int',
  total_archive_size_bytes: 'bigint',
  avg_archive_size_bytes: 'bigint',
  largest_archive_path: 'text',
  largest_archive_size_bytes: 'bigint',
} as const satisfies Record<keyof NewSnapshot, string>;

const names = Object.keys(columns) as (keyof NewSnapshot)[];

const insertSnapshot: Statement = {
  name: 'write_snapshot',
  text: `INSERT INTO analytics_snapshots (run_id, captured_at, ${names.join(', ')})
    SELECT $1::int, coalesce(least($2::timestamptz, now()), now()),
      ${names.map((name, index) => `$${index + 3}::${columns[name]}`).join(', ')}
    WHERE NOT EXISTS (SELECT FROM analytics_snapshots WHERE run_id = $1::int)`,
};

/** Stores the snapshot of a run, as of `at` (ISO 8601) or now. Idempotent. */
export async function writeSnapshot(
  db: Database,
  runId: number,
  snapshot: NewSnapshot,
  at: string | null = null,
): Promise<void> {
  await db.query(insertSnapshot, [runId, at, ...names.map((name) => snapshot[name])]);
}
