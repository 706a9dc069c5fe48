import type { Database, Statement } from '../../database/database.ts';
import { MAX_CHANGES, type NewAnomaly } from '../anomalies/kinds.ts';

/** The parameter of `insertAnomalies`: anomalies as JSON. */
export function anomaliesJson(anomalies: readonly NewAnomaly[]): string {
  return JSON.stringify(
    anomalies.map(({ changeCount: change_count, ...rest }) => ({ ...rest, change_count })),
  );
}

/** SQL that stores the anomalies of a version from `anomaliesJson`, each kind once. */
export const insertAnomalies = (at: {
  repository: string;
  run: string;
  version: string;
  time: string;
  json: string;
}) => `INSERT INTO anomalies (repo_full_name, run_id, version, kind, change_count, before, after, seen_at)
  SELECT ${at.repository}, ${at.run}::int, ${at.version}::int, kind, change_count, before, after,
    least(${at.time}::timestamptz, now())
  FROM jsonb_to_recordset(${at.json}::jsonb)
    AS given (kind text, change_count int, before jsonb, after jsonb)
  ON CONFLICT DO NOTHING`;

/** An anomaly of a version that is already recorded. */
export interface AnomalyOfVersion {
  repository: string;
  version: number;
  anomaly: NewAnomaly;
}

const insert: Statement = {
  name: 'record_anomaly',
  text: insertAnomalies({
    ...{ repository: '$1', run: '$2', version: '$3', json: '$4' },
    time: '$5',
  }),
};

/** Records an anomaly, unless the version already has one of its kind. `at` is ISO 8601; null means now. */
export async function recordAnomaly(
  db: Database,
  runId: number,
  { repository, version, anomaly }: AnomalyOfVersion,
  at: string | null = null,
): Promise<void> {
  await db.query(insert, [repository, runId, version, anomaliesJson([anomaly]), at]);
}

/** What a discovery no longer found. */
export interface MissedRepositories {
  /** Repositories with an archive that are no longer listed. */
  names: readonly string[];
  /** How many repositories with an archive are still listed. */
  listed: number;
}

// Repositories that were already missing do not count. If nothing at all is listed, no results show that; it is
// recorded once, until a run lists something again, which replaces the coverage.
const insertMissing: Statement = {
  name: 'record_missing',
  text: `WITH newly AS (
      SELECT name, row_number() OVER (ORDER BY name) AS place FROM unnest($2::text[]) AS name
      WHERE coalesce((
        SELECT fault FROM backup_results AS result WHERE result.repo_full_name = name
        ORDER BY result.created_at DESC, result.id DESC LIMIT 1
      ), '') NOT IN ('missing', 'emptied')
    )
    INSERT INTO anomalies (run_id, kind, change_count, before, seen_at)
    SELECT $1::int, 'missing', count(*),
      jsonb_object_agg(name, 'listed') FILTER (WHERE place <= ${MAX_CHANGES}),
      least($4::timestamptz, now())
    FROM newly WHERE $3::int > 0 OR NOT EXISTS (
      SELECT FROM anomalies AS known WHERE known.repo_full_name IS NULL AND known.kind = 'missing'
        AND known.run_id > (SELECT coalesce(max(run_id), 0) FROM coverage)
    )
    HAVING count(*) * 5 > $3::int + count(*)
    ON CONFLICT DO NOTHING`,
};

/**
 * Records that more than a fifth of all repositories of the run before are now missing; nothing if fewer are. Call it
 * before the results of the run are recorded. `at` is ISO 8601; null means now.
 */
export async function recordMissing(
  db: Database,
  runId: number,
  { names, listed }: MissedRepositories,
  at: string | null = null,
): Promise<void> {
  if (names.length > 0) await db.query(insertMissing, [runId, names, listed, at]);
}
