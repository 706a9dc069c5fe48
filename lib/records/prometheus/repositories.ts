import type { Database, Statement } from '../../database/database.ts';
import { jsonObject } from '../base/page.ts';
import { drillOutcomes } from '../drills/new-drill.ts';
import { lastDrill, lastProof, standingFailures } from '../drills/newest-drill.ts';
import { archiveBytesSql } from '../repositories/archive-bytes.ts';
import {
  consecutiveFailures,
  JUDGED_AT,
  type Judging,
  judgingValues,
  knownRepositories,
  type RepositoryState,
  stateCountsSql,
} from '../repositories/repository-states.ts';
import { seconds } from './seconds.ts';

/**
 * How the last drill of a repository ended. A failed one counts until a later one succeeds. `none`: there was no drill.
 */
export const lastDrillOutcomes = [...drillOutcomes, 'none'] as const;
type LastDrillOutcome = (typeof lastDrillOutcomes)[number];

/** The metrics of one repository. Times are seconds since 1970; null if it never happened. */
interface RepositoryMetrics {
  name: string;
  state: RepositoryState;
  good_at: number | null;
  good_age: number | null;
  version_at: number | null;
  size_bytes: number;
  failures: number;
  proven_at: number | null;
  drill: LastDrillOutcome;
}

/** The metrics of all repositories together, and of each. */
export interface AllRepositoryMetrics {
  states: Record<RepositoryState | 'total', number>;
  drills: Record<LastDrillOutcome, number>;
  size_bytes: number;
  oldest_good_at: number | null;
  oldest_proof_at: number | null;
  fresh_seconds: number;
  /** Null if there are more than `max` repositories. */
  each: RepositoryMetrics[] | null;
}

const repositoryMetrics: Statement = {
  name: 'repository_metrics',
  text: `WITH ${knownRepositories},
    measured AS MATERIALIZED (
      SELECT repository.*, coalesce(${archiveBytesSql}, 0) AS size_bytes, ${seconds('last_good_at')} AS good_at,
        ${seconds('proof.started_at')} AS proven_at, CASE WHEN failure.id IS NOT NULL THEN 'failed' ELSE coalesce(last.outcome, 'none') END AS drill
      FROM known AS repository
      LEFT JOIN LATERAL (${lastProof('drill.started_at', JUDGED_AT)}) AS proof ON true
      LEFT JOIN LATERAL (${lastDrill('drill.outcome', JUDGED_AT)}) AS last ON true
      LEFT JOIN (${standingFailures(JUDGED_AT)}) AS failure ON failure.key = lower(repository.repo_full_name)
    )
    SELECT ${jsonObject(`
      SELECT (SELECT row_to_json(counts) FROM (${stateCountsSql('measured')}) AS counts) AS states,
        (SELECT row_to_json(counts) FROM (
          SELECT ${lastDrillOutcomes.map((outcome) => `count(*) FILTER (WHERE drill = '${outcome}') AS ${outcome}`).join(', ')}
          FROM measured
        ) AS counts) AS drills,
        (SELECT coalesce(sum(size_bytes), 0) FROM measured) AS size_bytes,
        (SELECT min(good_at) FROM measured) AS oldest_good_at,
        (SELECT min(proven_at) FROM measured) AS oldest_proof_at,
        (SELECT fresh_hours * 3600 FROM judging) AS fresh_seconds,
        CASE WHEN (SELECT count(*) FROM measured) <= $4::int THEN (
          SELECT coalesce(json_agg(item), '[]') FROM (
            SELECT repo_full_name AS name, state, good_at,
              CASE WHEN good_at IS NOT NULL THEN greatest(0, ${seconds(JUDGED_AT)} - good_at) END AS good_age,
              (SELECT ${seconds('made.created_at')} FROM archive_versions AS made
               WHERE lower(made.repo_full_name) = lower(repository.repo_full_name) AND made.pruned_at IS NULL
               ORDER BY made.version DESC LIMIT 1) AS version_at,
              size_bytes, ${consecutiveFailures} AS failures, proven_at, drill
            FROM measured AS repository ORDER BY repo_full_name
          ) AS item
        ) END AS each`)} AS item`,
};

/**
 * Reads the metrics of repositories: of all together, and of each if there are at most `max`. Waits for at most
 * `timeoutMs`.
 */
export async function readRepositoryMetrics(
  db: Database,
  judging: Judging,
  { max, timeoutMs }: { max: number; timeoutMs: number },
): Promise<AllRepositoryMetrics> {
  const values = [...judgingValues(judging), max];
  const [row] = await db.query<{ item: string }>(repositoryMetrics, values, { timeoutMs });
  if (!row) throw new Error(`${repositoryMetrics.name} returned no row`);
  return JSON.parse(row.item);
}
