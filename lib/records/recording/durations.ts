import type { Database, Statement } from '../../database/database.ts';

const REPOSITORIES_AT_ONCE = 5_000;

const durations: Statement = {
  name: 'last_durations',
  text: `SELECT name, coalesce(last.duration_ms, 0)::text AS "durationMs"
    FROM unnest($1::text[]) AS name CROSS JOIN LATERAL (
      SELECT result.duration_ms FROM backup_results AS result
      WHERE result.repo_full_name = name AND status IN ('completed', 'success')
      ORDER BY result.created_at DESC, result.id DESC LIMIT 1
    ) AS last`,
};

/** How long the last completed backup of each repository took, in milliseconds. A repository without one is absent. */
export async function readLastDurations(
  db: Database,
  names: readonly string[],
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let start = 0; start < names.length; start += REPOSITORIES_AT_ONCE) {
    const batch = names.slice(start, start + REPOSITORIES_AT_ONCE);
    const rows = await db.query<{ name: string; durationMs: string }>(durations, [batch]);
    for (const { name, durationMs } of rows) found.set(name, Number(durationMs));
  }
  return found;
}
