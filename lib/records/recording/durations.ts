import type { Database, Statement } from '../../database/database.ts';

const selectDurations: Statement = {
  name: 'last_durations',
  text: `SELECT asked.name AS repository, newest.duration_ms::double precision AS "durationMs"
    FROM unnest($1::text[]) AS asked (name) CROSS JOIN LATERAL (
      SELECT duration_ms FROM backup_results
      WHERE repo_full_name = asked.name AND status IN ('completed', 'success')
      ORDER BY created_at DESC, id DESC LIMIT 1
    ) AS newest`,
};

/**
 * How long the last backup of each repository that was not skipped took, in milliseconds. Repositories without
 * one are missing.
 */
export async function readLastDurations(
  db: Database,
  repositories: readonly string[],
): Promise<Map<string, number>> {
  const rows = await db.query<{ repository: string; durationMs: number | null }>(selectDurations, [
    repositories,
  ]);
  return new Map(rows.map(({ repository, durationMs }) => [repository, durationMs ?? 0]));
}
