import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { iso } from '../base/page.ts';
import { FOLDER_STORAGE } from './new-drill.ts';
import { lastProof, standingDrill, standingFailures } from './newest-drill.ts';

/** The number of days within which each repository should be proven. */
export const PROOF_DAYS = 30;

const MAX_REASON_LENGTH = 1_000;

/**
 * SQL for the columns of a row `repository` with its last proof, and with the drill that decides its state, as of
 * `now`.
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

/** Whether a repository is proven restorable, as `proofStates` says. */
export const proofStateNames = ['proven', 'overdue', 'never', 'failing'] as const;
export type ProofState = (typeof proofStateNames)[number];

/** How many of the repositories that need a proof most are listed. */
export const MAX_MOST_NEEDED = 10;

/**
 * SQL for the proof state of each repository of a CTE at the time `now`: when and from where it was last proven, and
 * when the failed drill that still counts started. Drills after `until` do not count. `failures` are the failed drills
 * that still count, for a statement that has already read them. A proof of an archive that is missing now counts as a
 * failure.
 */
export const proofStates = (
  source: string,
  now: string,
  until = now,
  failures = `(${standingFailures(until)})`,
) => `
  SELECT repository.repo_full_name, proof.proven_at, proof.storage,
    coalesce(failure.started_at, CASE WHEN is_void THEN missing.since END) AS failed_at,
    CASE WHEN failure.id IS NOT NULL OR is_void THEN 'failing'
      WHEN proven_at IS NULL THEN 'never'
      WHEN proven_at < ${now} - interval '${PROOF_DAYS} days' THEN 'overdue'
      ELSE 'proven' END AS state
  FROM ${source} AS repository
  LEFT JOIN LATERAL (${lastProof('drill.started_at AS proven_at, drill.storage', until)}) AS proof ON true
  LEFT JOIN ${failures} AS failure ON failure.key = lower(repository.repo_full_name)
  LEFT JOIN (
    SELECT lower(repo_full_name) AS key, max(archive_missing_since) AS since
    FROM worker_repo_state WHERE archive_missing_since IS NOT NULL GROUP BY 1
  ) AS missing ON missing.key = lower(repository.repo_full_name)
  CROSS JOIN LATERAL (
    SELECT missing.since IS NOT NULL AND coalesce(proof.storage, '${FOLDER_STORAGE}') = '${FOLDER_STORAGE}' AS is_void
  ) AS voided`;

/** SQL for a row that counts the rows of `proofStates`. */
export const proofCounts = (states: string) => `
  SELECT ${proofStateNames
    .map((state) => `count(*) FILTER (WHERE state = '${state}') AS ${state}`)
    .join(', ')}, ${iso('min(proven_at)')} AS oldest_at
  FROM ${states}`;

/**
 * SQL for the rows of `proofStates` that need a proof most, as JSON: failed first, then never proven, then the oldest
 * proofs.
 */
export const mostNeededProofs = (states: string, limit: number) => `
  (SELECT coalesce(json_agg(item), '[]') FROM (
    SELECT repo_full_name AS full_name, state, ${iso('proven_at')} AS proven_at, storage,
      ${iso('failed_at')} AS failed_at
    FROM ${states} ORDER BY state = 'failing' DESC, ${states}.proven_at NULLS FIRST, lower(repo_full_name), repo_full_name
    LIMIT ${limit}
  ) AS item)`;
