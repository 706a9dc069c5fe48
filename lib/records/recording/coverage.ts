import type { Database, Statement } from '../../database/database.ts';
import type { SeenRepository } from './plans.ts';

// A run that was delivered late does not replace what a later one saw. Times in the future are capped.
const replace: Statement = {
  name: 'record_coverage',
  text: `WITH given AS (
      SELECT DISTINCT ON (name) name, plan, reason, facts
      FROM jsonb_to_recordset($2::jsonb) AS given (name text, plan text, reason text, facts jsonb)
      WHERE NOT EXISTS (SELECT FROM coverage WHERE seen_at > least($3::timestamptz, now()))
      ORDER BY name
    ), gone AS (
      DELETE FROM coverage
      WHERE EXISTS (SELECT FROM given) AND name NOT IN (SELECT name FROM given)
    )
    INSERT INTO coverage (name, run_id, seen_at, plan, reason, facts)
    SELECT name, $1::int, least($3::timestamptz, now()), plan, reason, facts FROM given
    ON CONFLICT (name) DO UPDATE SET run_id = excluded.run_id, seen_at = excluded.seen_at,
      plan = excluded.plan, reason = excluded.reason, facts = excluded.facts`,
};

/** Replaces what the last discovery saw. `at` is ISO 8601; null means now. */
export async function recordCoverage(
  db: Database,
  runId: number,
  repositories: readonly SeenRepository[],
  at: string | null = null,
): Promise<void> {
  await db.query(replace, [runId, JSON.stringify(repositories), at]);
}
