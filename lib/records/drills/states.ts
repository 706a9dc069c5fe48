import { cutTextSql } from '../../text/cut-text.ts';
import { iso } from '../page.ts';
import { lastProof, standingDrill, standingFailures } from './newest-drill.ts';

/** In how many days each repository should be proven. */
export const PROOF_DAYS = 30;

const MAX_REASON_LENGTH = 1_000;

/**
 * SQL for the columns of a row `repository` that say when it was last proven restorable, and by which drill it stands,
 * as of `now`.
 */
export const proofColumns = (now: string) => `
  (SELECT row_to_json(proof) FROM (${lastProof(
    `${iso('drill.started_at')} AS at, drill.storage, drill.version`,
    now,
  )}) AS proof) AS last_proof,
  (SELECT row_to_json(last) FROM (${standingDrill(
    `${iso('drill.started_at')} AS at, drill.outcome, drill.storage, drill.version,
      ${cutTextSql('drill.reason', MAX_REASON_LENGTH)} AS reason`,
    now,
  )}) AS last) AS last_drill`;

/**
 * SQL for a row that counts the repositories of a CTE by their proofs, each once, at the time `now`. Drills of later
 * than `until` do not count. `failures` are those that stand, for a statement that has read them already.
 */
export const proofCounts = (
  source: string,
  now: string,
  until = now,
  failures = `(${standingFailures(until)})`,
) => `
  SELECT count(*) FILTER (WHERE NOT failed AND proven_at >= ${now} - interval '${PROOF_DAYS} days') AS proven,
    count(*) FILTER (WHERE NOT failed AND proven_at < ${now} - interval '${PROOF_DAYS} days') AS overdue,
    count(*) FILTER (WHERE NOT failed AND proven_at IS NULL) AS never,
    count(*) FILTER (WHERE failed) AS failing,
    ${iso('min(proven_at)')} AS oldest_at
  FROM (
    SELECT proof.started_at AS proven_at, failure.id IS NOT NULL AS failed
    FROM ${source} AS repository
    LEFT JOIN LATERAL (${lastProof('drill.started_at', until)}) AS proof ON true
    LEFT JOIN ${failures} AS failure ON failure.key = lower(repository.repo_full_name)
  ) AS tracked`;
