import type { Database, Statement } from '../../database/database.ts';
import { iso, jsonArray } from '../base/page.ts';
import { lastProof } from '../drills/newest-drill.ts';
import {
  JUDGED_AT,
  type Judging,
  judgingValues,
  knownRepositories,
  type RepositoryState,
  repositoryStates,
} from '../repositories/repository-states.ts';
import type { StatusRow } from './status-pages.ts';

/** How many days the strip of a status page shows. */
export const STATUS_DAYS = 90;
/** How many repositories of a row the strip looks at, and how many results of each. */
const MAX_REPOSITORIES = 1_000;
const MAX_RESULTS = 500;

/** What a status page shows of one of its rows. */
export interface StatusFacts {
  total: number;
  good: number;
  /** The worst state; null if no repository matches. */
  state: RepositoryState | null;
  /** When the one that was last good longest ago was; null if one never was. ISO 8601. */
  last_good_at: string | null;
  /** When the one that was proven longest ago was; null if one never was. */
  proven_at: string | null;
  /** The days, in UTC, on which something was backed up or found unchanged, or failed: whether something did. */
  days: readonly { day: string; is_bad: boolean }[];
}

/** SQL for when the strip begins. */
const BEGINNING = `(${JUDGED_AT} - interval '${STATUS_DAYS} days')`;

const states = `ARRAY['${repositoryStates.join("', '")}']`;

const read: Statement = {
  name: 'status_page',
  text: `WITH ${knownRepositories},
    picked AS MATERIALIZED (
      SELECT wanted.position, known.repo_full_name, known.state, known.last_good_at, proof.proven_at,
        row_number() OVER (PARTITION BY wanted.position ORDER BY known.repo_full_name) AS number
      FROM jsonb_to_recordset($4::jsonb) AS wanted (position int, patterns jsonb)
      JOIN known ON lower(known.repo_full_name) LIKE ANY (
        SELECT pattern FROM jsonb_array_elements_text(wanted.patterns) AS pattern
      )
      LEFT JOIN LATERAL (
        SELECT found.started_at AS proven_at FROM (SELECT known.repo_full_name) AS repository
        CROSS JOIN LATERAL (${lastProof('drill.started_at', JUDGED_AT)}) AS found
      ) AS proof ON true
    )
    SELECT count(repo_full_name)::int AS total, (count(*) FILTER (WHERE state = 'good'))::int AS good,
      (${states})[min(array_position(${states}, state))] AS state,
      CASE WHEN bool_and(last_good_at IS NOT NULL) THEN ${iso('min(last_good_at)')} END AS last_good_at,
      CASE WHEN bool_and(proven_at IS NOT NULL) THEN ${iso('min(proven_at)')} END AS proven_at,
      ${jsonArray(`
        SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, bool_or(status NOT IN ('completed', 'success', 'empty')) AS is_bad
        FROM picked AS counted CROSS JOIN LATERAL (
          (SELECT created_at, status FROM backup_results AS result WHERE result.repo_full_name = counted.repo_full_name
            AND result.created_at > ${BEGINNING}
          ORDER BY result.created_at DESC, result.id DESC LIMIT ${MAX_RESULTS})
          UNION ALL
          SELECT checked.at, 'completed' FROM (
            SELECT since, until FROM repository_checks AS kept WHERE kept.repo_full_name = counted.repo_full_name
              AND kept.until > ${BEGINNING}
            ORDER BY kept.until DESC LIMIT ${MAX_RESULTS}
          ) AS kept CROSS JOIN LATERAL (
            SELECT kept.until AS at
            UNION ALL SELECT generate_series(greatest(kept.since, ${BEGINNING}), kept.until, interval '1 day')
          ) AS checked
        ) AS result
        WHERE counted.position = wanted.position AND counted.number <= ${MAX_REPOSITORIES} GROUP BY 1 ORDER BY 1`)} AS days
    FROM jsonb_to_recordset($4::jsonb) AS wanted (position int)
    LEFT JOIN picked ON picked.position = wanted.position
    GROUP BY wanted.position ORDER BY wanted.position`,
};

/** Reads what the rows of a status page show, in their order. */
export async function readStatusFacts(
  db: Database,
  judging: Judging,
  shows: readonly StatusRow[],
): Promise<StatusFacts[]> {
  const wanted = shows.map(({ repositories }, position) => ({
    position,
    patterns: repositories.map(toLike),
  }));
  const rows = await db.query<Omit<StatusFacts, 'days'> & { days: string }>(read, [
    ...judgingValues(judging),
    JSON.stringify(wanted),
  ]);
  return rows.map((row) => ({ ...row, days: JSON.parse(row.days) as StatusFacts['days'] }));
}

/** A name with `*` as a pattern of LIKE. */
function toLike(name: string): string {
  return name
    .toLowerCase()
    .replace(/[\\%_]/g, '\\$&')
    .replaceAll('*', '%');
}
