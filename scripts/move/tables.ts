/** A column of a table's key, with the type to compare it as. */
interface KeyColumn {
  column: string;
  type: 'bigint' | 'uuid' | 'text';
}

/** A table that a move copies. */
export interface MovedTable {
  name: string;
  /** The primary key. */
  key: readonly KeyColumn[];
  /** SQL for columns whose values are only meaningful in the source. */
  instead?: Readonly<Record<string, string>>;
}

const id: readonly KeyColumn[] = [{ column: 'id', type: 'bigint' }];
const uuid: readonly KeyColumn[] = [{ column: 'id', type: 'uuid' }];
const name = (column: string): readonly KeyColumn[] => [{ column, type: 'text' }];

/**
 * All tables with data, in the order of their references. Without the summary tables, which the target's
 * triggers fill (drizzle/functions/summaries.sql).
 */
export const movedTables: readonly MovedTable[] = [
  { name: 'backup_runs', key: id },
  { name: 'backup_results', key: id },
  { name: 'execution_logs', key: id },
  { name: 'analytics_snapshots', key: id },
  { name: 'backup_fixes', key: id },
  {
    name: 'backup_run_fixes',
    key: [
      { column: 'run_id', type: 'bigint' },
      { column: 'fix_id', type: 'bigint' },
    ],
  },
  { name: 'backup_run_requests', key: id },
  { name: 'worker_repo_state', key: name('repo_full_name') },
  {
    name: 'archive_versions',
    key: [...name('repo_full_name'), { column: 'version', type: 'bigint' }],
  },
  { name: 'archive_refs', key: id },
  {
    name: 'archive_stores',
    key: [...name('repo_full_name'), ...name('store')],
  },
  { name: 'repository_sources', key: name('repo_full_name') },
  { name: 'sources', key: id },
  { name: 'anomalies', key: id },
  { name: 'coverage', key: name('name') },
  { name: 'incidents', key: id },
  {
    name: 'incident_repositories',
    key: [{ column: 'incident_id', type: 'bigint' }, ...name('repository_name')],
  },
  { name: 'alert_deliveries', key: id },
  { name: 'alert_notices', key: id },
  { name: 'quiet_hours', key: id },
  { name: 'mutes', key: id },
  { name: 'digest', key: id },
  { name: 'maintenance_windows', key: id },
  { name: 'host_logins', key: name('git_host_url') },
  { name: 'archive_disks', key: [...name('machine'), ...name('day')] },
  { name: 'badges', key: id },
  { name: 'status_pages', key: id },
  { name: 'schedules', key: id },
  { name: 'forgotten_repositories', key: name('repo_full_name') },
  { name: 'restore_drills', key: id },
  { name: 'repository_checks', key: id },
  { name: 'objectives', key: id },
  { name: 'restores', key: id },
  { name: 'signing_keys', key: name('id') },
  { name: 'drill_statements', key: [{ column: 'drill_id', type: 'bigint' }] },
  { name: 'users', key: name('username') },
  { name: 'ended_sessions', key: name('id') },
  { name: 'gateway_connections', key: name('username') },
  { name: 'alert_channels', key: uuid },
  { name: 'chat_sessions', key: uuid },
  { name: 'chat_messages', key: id },
  { name: 'reports', key: uuid },
  { name: 'embedding_generations', key: id },
  { name: 'embedding_jobs', key: id },
  { name: 'embedding_chunks', key: id },
  {
    name: 'embedding_watermarks',
    key: [{ column: 'generation_id', type: 'bigint' }, ...name('source_type')],
    // Transaction ids are only meaningful in the source: scan everything that is not settled again.
    instead: { seen_id: 'settled_id', seen_before: '0::bigint' },
  },
];

/** Summaries of other tables. */
export const summaryTables = ['execution_log_counts', 'backup_result_totals', 'newest_results'];

/** Tables that only matter while a worker runs or alerts are evaluated; they are not moved. */
export const passingTables = [
  'run_members',
  'run_jobs',
  'restore_drill_claims',
  'alert_evaluation',
];

/** Whether it is a table of embeddings, which a target without the vector extension cannot store. */
export function isOfEmbeddings({ name }: MovedTable): boolean {
  return name.startsWith('embedding_');
}
