import type { Database, Statement } from '../../database/database.ts';
import type { RunCounters } from './runs.ts';

/** A source that a run could not read and that never was read: a mistyped address, and not a repository. */
export interface UnreadSource {
  /** Its path or address. */
  source: string;
  reason: string;
  /** The log line about it. */
  message: string;
  /** How many repositories are left in the run without it. */
  totalRepos: number;
}

/** SQL that follows SET: adds an unread source to a run. Safe to repeat. */
export const addUnread = (source: string, reason: string) =>
  `unread_sources = coalesce(unread_sources, '{}'::jsonb) || jsonb_build_object(${source}::text, ${reason}::text)`;

const insert: Statement = {
  name: 'record_unread',
  text: `WITH line AS (
      INSERT INTO execution_logs (run_id, level, message) VALUES ($1::int, 'error', $2)
    )
    UPDATE backup_runs
    SET heartbeat_at = now(), successful = $5::int, failed = $6::int, skipped = $7::int, total_repos = $8::int,
      ${addUnread('$3', '$4')}
    WHERE id = $1::int AND status = 'running' AND exclusive_key = 'worker'
    RETURNING id`,
};

/** Records an unread source, with the run's counters and a log line. False when the run is no longer ours. */
export async function recordUnread(
  db: Database,
  {
    runId,
    message,
    source,
    reason,
    totalRepos,
    counters,
  }: UnreadSource & { runId: number; counters: RunCounters },
): Promise<boolean> {
  const { successful, failed, skipped } = counters;
  const values = [runId, message, source, reason, successful, failed, skipped, totalRepos];
  return (await db.query(insert, values)).length > 0;
}

const deliver: Statement = {
  name: 'deliver_unread',
  text: `UPDATE backup_runs SET ${addUnread('$2', '$3')} WHERE id = $1::int`,
};

/** Records an unread source of a spooled run; its log line and the counters are delivered with all others. */
export async function deliverUnread(
  db: Database,
  runId: number,
  { source, reason }: Pick<UnreadSource, 'source' | 'reason'>,
): Promise<void> {
  await db.query(deliver, [runId, source, reason]);
}
