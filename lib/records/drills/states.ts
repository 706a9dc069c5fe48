import { cutTextSql } from '../../text/cut-text.ts';
import { iso } from '../page.ts';
import { hasHappened } from '../repositories/drills.ts';

/** In how many days each repository should be proven. */
export const PROOF_DAYS = 30;

const MAX_REASON_LENGTH = 1_000;

const newestDrill = (repository: string, columns: string, condition: string, now: string) => `
  SELECT ${columns} FROM restore_drills AS drill
  WHERE lower(drill.repository_name) = lower(${repository}) AND ${condition}
    AND ${hasHappened(now)}
  ORDER BY drill.started_at DESC, drill.id DESC LIMIT 1`;

/**
 * SQL for the columns of a row `repository` that say when it was last proven restorable, and how its last drill ended,
 * as of `now`.
 */
export const proofColumns = (now: string) => `
  (SELECT row_to_json(proof) FROM (${newestDrill(
    'repository.repo_full_name',
    `${iso('drill.started_at')} AS at, drill.storage, drill.version`,
    "drill.outcome = 'proven'",
    now,
  )}) AS proof) AS last_proof,
  (SELECT row_to_json(last) FROM (${newestDrill(
    'repository.repo_full_name',
    `${iso('drill.started_at')} AS at, drill.outcome, drill.storage, drill.version,
      ${cutTextSql('drill.reason', MAX_REASON_LENGTH)} AS reason`,
    'true',
    now,
  )}) AS last) AS last_drill`;

/**
 * SQL for a row that counts the repositories of a CTE by their proofs, at the time `now`. Drills of later than `until`
 * do not count.
 */
export const proofCounts = (source: string, now: string, until = now) => `
  SELECT count(*) FILTER (WHERE proven_at >= ${now} - interval '${PROOF_DAYS} days') AS proven,
    count(*) FILTER (WHERE proven_at < ${now} - interval '${PROOF_DAYS} days') AS overdue,
    count(*) FILTER (WHERE proven_at IS NULL) AS never,
    count(*) FILTER (WHERE outcome = 'failed') AS failing,
    ${iso('min(proven_at)')} AS oldest_at
  FROM (
    SELECT (${newestDrill('repository.repo_full_name', 'drill.started_at', "drill.outcome = 'proven'", until)}) AS proven_at,
      (${newestDrill('repository.repo_full_name', 'drill.outcome', 'true', until)}) AS outcome
    FROM ${source} AS repository
  ) AS proof`;
