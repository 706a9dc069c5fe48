import type { Database, Statement } from '../../database/database.ts';
import { newestResults } from '../base/newest-results.ts';
import { lastProof, standingFailures } from '../drills/newest-drill.ts';
import {
  JUDGED_AT,
  type Judging,
  judgingBy,
  judgingValues,
  type RepositoryState,
  repositoryStates,
  withStates,
} from '../repositories/repository-states.ts';

/** What a badge shows about one repository, or about all of them. */
export interface BadgeFacts {
  /** The worst state; null if nothing is tracked. */
  state: RepositoryState | null;
  /** Whether a drill failed and its repository has not been proven since. */
  isDamaged: boolean;
  proven: number;
  unproven: number;
  /** The age of the oldest of the repositories' last proofs; null if there is none. */
  proofAgeSeconds: number | null;
  /** Open incidents: all, or those that concern the repository. */
  incidents: number;
}

const states = `ARRAY['${repositoryStates.join("', '")}']`;

const badgeFacts: Statement = {
  name: 'badge_facts',
  text: `WITH ${newestResults},
    ${judgingBy('$1', '$2', '$3')},
    chosen AS (SELECT * FROM newest WHERE $4::text IS NULL OR lower(repo_full_name) = lower($4)),
    repository AS (${withStates('chosen')})
    SELECT (${states})[min(array_position(${states}, state))] AS state,
      count(failure.id) > 0 AS "isDamaged",
      count(proof.started_at)::int AS proven,
      (count(*) - count(proof.started_at))::int AS unproven,
      greatest(0, extract(epoch FROM ${JUDGED_AT} - min(proof.started_at)))::float8 AS "proofAgeSeconds",
      (SELECT count(*)::int FROM incidents AS incident WHERE resolved_at IS NULL AND ($4::text IS NULL OR EXISTS (
        SELECT FROM incident_repositories AS member
        WHERE member.incident_id = incident.id AND lower(member.repository_name) = lower($4) AND member.resolved_at IS NULL
      ))) AS incidents
    FROM repository
    LEFT JOIN LATERAL (${lastProof('drill.started_at', JUDGED_AT)}) AS proof ON true
    LEFT JOIN (${standingFailures(JUDGED_AT)}) AS failure ON failure.key = lower(repo_full_name)`,
};

/** Reads what the badge of a repository shows; null: of all repositories together. */
export async function readBadgeFacts(
  db: Database,
  judging: Judging,
  repository: string | null,
): Promise<BadgeFacts> {
  const [row] = await db.query<BadgeFacts>(badgeFacts, [...judgingValues(judging), repository]);
  if (!row) throw new Error(`${badgeFacts.name} returned no row`);
  return row.proven === 0 ? { ...row, proofAgeSeconds: null } : row;
}
