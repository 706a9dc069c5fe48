import type { Database, Statement } from '../../database/database.ts';
import {
  iso,
  jsonObject,
  type Page,
  type PageRequest,
  pageOffset,
  pageQuery,
  readObject,
  readPage,
} from './page.ts';

const zeroWhenNull = (columns: readonly string[]) =>
  columns.map((column) => `coalesce(${column}, 0) AS ${column}`).join(', ');

/** The columns of a RepoAnalyticsSnapshot in order. */
const snapshotColumns = `
  id, run_id, ${iso('captured_at')} AS captured_at, coalesce(head_commit, '') AS head_commit,
  coalesce(head_commit_message, '') AS head_commit_message,
  ${iso('head_commit_at')} AS head_commit_at,
  ${zeroWhenNull(['total_commits', 'branch_count', 'tag_count', 'tracked_files'])},
  ${zeroWhenNull(['total_blob_size_bytes', 'avg_blob_size_bytes'])},
  coalesce(largest_blob_path, '') AS largest_blob_path,
  ${zeroWhenNull(['largest_blob_size_bytes', 'archive_count'])},
  ${zeroWhenNull(['total_archive_size_bytes', 'avg_archive_size_bytes'])},
  coalesce(largest_archive_path, '') AS largest_archive_path,
  ${zeroWhenNull(['largest_archive_size_bytes'])}`;

const newestFirst = 'ORDER BY snapshot.captured_at DESC, snapshot.id DESC';

/** SQL that selects the newest snapshot, if any. */
export const latestSnapshotQuery = `
  SELECT ${snapshotColumns} FROM analytics_snapshots AS snapshot ${newestFirst} LIMIT 1`;

const snapshotsPage: Statement = {
  name: 'snapshots_page',
  text: pageQuery(
    `SELECT ${snapshotColumns} FROM analytics_snapshots AS snapshot
     ${newestFirst} LIMIT $1::bigint OFFSET $2::bigint`,
    'SELECT count(*) FROM analytics_snapshots',
  ),
};

/** Analytics snapshots, newest first. */
export function listSnapshots(db: Database, request: PageRequest): Promise<Page> {
  return readPage(db, snapshotsPage, [request.limit, pageOffset(request)]);
}

const latestSnapshot: Statement = {
  name: 'latest_snapshot',
  text: `SELECT ${jsonObject(latestSnapshotQuery)} AS item`,
};

/** The newest snapshot; null when there is none. */
export function readLatestSnapshot(db: Database): Promise<string | null> {
  return readObject(db, latestSnapshot);
}

const snapshotOfRun: Statement = {
  name: 'snapshot_of_run',
  text: `SELECT ${jsonObject(`
    SELECT ${snapshotColumns} FROM analytics_snapshots AS snapshot
    WHERE snapshot.run_id = $1::bigint ${newestFirst} LIMIT 1`)} AS item`,
};

/** The newest snapshot of a run; null when it has none. */
export function readSnapshotOfRun(db: Database, runId: number): Promise<string | null> {
  return readObject(db, snapshotOfRun, [runId]);
}
