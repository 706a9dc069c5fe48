import type { Database, Statement } from '../../database/database.ts';
import { newestForgotten, newestResults } from '../base/newest-results.ts';
import { iso } from '../base/page.ts';
import { isKnownLoss } from '../recording/archive-looks.ts';
import { hasArchive, hasHappened, proves, standingFailures } from './newest-drill.ts';
import { PROOF_DAYS } from './states.ts';

/** How soon a repository may be drilled again automatically, and how soon if it has not changed since. */
const REST_HOURS = 20;
const REST_UNCHANGED_DAYS = 7;
/**
 * Proofs older than this many days come first, whatever has changed, so that each is renewed before it no longer counts.
 */
export const RENEW_PROOF_DAYS = Math.floor(PROOF_DAYS * 0.7);
/** Each retry of an incomplete drill waits twice as long as the one before, up to 16 times REST_HOURS. */
const MAX_DOUBLINGS = 4;

const RECENT_DRILLS = 20;
const MAX_VERSIONS_COUNTED = 1_000;

/** A repository that is due for a drill. */
export interface DueDrill {
  /** `owner/name`. */
  repository: string;
  /** Where its last drills restored from, newest first. */
  recentStorages: string[];
  /** Where the failed drill restored from, if the repository has not been proven since. */
  failedIn: string | null;
  /** When a run last found its source empty (ISO 8601), if that is why it has no archive; else null. */
  foundEmptyAt: string | null;
  /** The stores that hold it, each with the newest version that it was given; null for an archive without versions. */
  storedIn: { store: string; version: number | null }[];
}

/** Which repositories may be chosen. */
export interface DueSelection {
  /** ISO 8601. */
  now: string;
  /** Whether repositories that are not due yet may be chosen, too. */
  isForced: boolean;
  /** Only this repository, in any letter case; null for all. */
  only: string | null;
  /** Repositories to skip, in lower case. */
  without: readonly string[];
}

// A repository whose loss was known when somebody forgot it is not drilled. `age` is the time since the last proof. A
// repository without one comes first from its first version on.
const candidates = `
  ${newestResults}, forgotten_ones AS (
    WITH ${newestForgotten} SELECT repo_full_name FROM newest
  ), tracked AS (
    SELECT repo_full_name AS name, lower(repo_full_name) AS key, updated_at, checked_at,
      NULL::timestamptz AS found_empty_at, archive_missing_since AS missing_since, archive_seen_at AS seen_at
    FROM worker_repo_state AS state
    WHERE archive_key LIKE '%.bundle' AND lower(repo_full_name) <> ALL ($3::text[])
      AND ($4::text IS NULL OR lower(repo_full_name) = lower($4))
      AND ($4::text IS NOT NULL OR archive_missing_since IS NULL OR NOT ${isKnownLoss('forgotten_ones')})
    UNION ALL
    SELECT repo_full_name, lower(repo_full_name), created_at, created_at, created_at, NULL, NULL FROM newest
    WHERE status = 'empty' AND lower(repo_full_name) <> ALL ($3::text[])
      AND ($4::text IS NULL OR lower(repo_full_name) = lower($4))
      AND NOT ${hasArchive('newest.repo_full_name')}
  ), known AS (
    SELECT tracked.*, proof.started_at AS proven_at, recent.storages, recent.last_at, recent.last_outcome, recent.is_missing, recent.tries,
      (SELECT count(*) FROM (
        SELECT FROM archive_versions AS made WHERE lower(made.repo_full_name) = tracked.key
          AND made.version > coalesce(proof.version, 0) AND made.pruned_at IS NULL LIMIT ${MAX_VERSIONS_COUNTED}
      ) AS newer) AS changes,
      $1::timestamptz - coalesce(
        proof.started_at,
        (SELECT made.created_at FROM archive_versions AS made WHERE lower(made.repo_full_name) = tracked.key
         ORDER BY made.version LIMIT 1),
        tracked.updated_at
      ) + CASE WHEN proof.started_at IS NULL THEN interval '${RENEW_PROOF_DAYS} days' ELSE interval '0' END AS age
    FROM tracked
    LEFT JOIN LATERAL (
      SELECT started_at, version FROM restore_drills AS drill
      WHERE lower(repository_name) = tracked.key AND ${proves('tracked.name')} AND ${hasHappened('$1::timestamptz')}
      ORDER BY started_at DESC, id DESC LIMIT 1
    ) AS proof ON true
    LEFT JOIN LATERAL (
      SELECT json_agg(storage ORDER BY started_at DESC, id DESC) AS storages,
        (array_agg(started_at ORDER BY started_at DESC, id DESC))[1] AS last_at,
        (array_agg(outcome ORDER BY started_at DESC, id DESC))[1] AS last_outcome,
        (array_agg(evidence @> '{"missing": true}' ORDER BY started_at DESC, id DESC))[1] AS is_missing,
        count(*) FILTER (WHERE proof.started_at IS NULL OR started_at > proof.started_at) AS tries
      FROM (
        SELECT * FROM restore_drills AS drill
        WHERE lower(repository_name) = tracked.key AND ${hasHappened('$1::timestamptz')}
        ORDER BY started_at DESC, id DESC LIMIT ${RECENT_DRILLS}
      ) AS drill
    ) AS recent ON true
  ), due AS (
    SELECT *, age >= interval '${RENEW_PROOF_DAYS} days' AS is_old,
      coalesce(missing_since > last_at, missing_since IS NOT NULL) AS is_vanished
    FROM known
    WHERE $2::boolean OR last_at IS NULL OR missing_since > last_at OR (
      $1::timestamptz - last_at >= CASE last_outcome
        WHEN 'proven' THEN
          -- What was proven empty has something now.
          CASE WHEN proven_at IS NULL THEN interval '0' WHEN changes > 0 THEN interval '${REST_HOURS} hours' ELSE interval '${REST_UNCHANGED_DAYS} days' END
        WHEN 'failed' THEN
          -- What was missing is there again, or a new version was made.
          CASE WHEN is_missing AND seen_at > last_at OR EXISTS (
              SELECT FROM archive_versions AS made WHERE lower(made.repo_full_name) = known.key AND made.created_at > last_at
            ) THEN interval '0' ELSE interval '${REST_HOURS} hours' END
        ELSE interval '${REST_HOURS} hours' * 2 ^ least(greatest(tries - 1, 0), ${MAX_DOUBLINGS}) END
      -- A missing archive is not looked for again until a run finds it, or its repository good.
      AND NOT (is_missing AND coalesce(greatest(checked_at, seen_at), updated_at) < last_at)
    )
  )`;

const order = `is_vanished DESC, is_old DESC, changes > 0 DESC,
  extract(epoch FROM age) * CASE WHEN is_old THEN 1 ELSE 1 + ln(1 + changes) END DESC, key`;

// If two workers choose the same repository at once, one of them claims nothing and tries again.
const claim: Statement = {
  name: 'claim_drill',
  text: `WITH ${candidates}, chosen AS (
      SELECT due.* FROM due
      WHERE NOT EXISTS (
        SELECT FROM restore_drill_claims AS claim
        WHERE claim.repository_name = due.key AND claim.until > now() AND claim.holder <> $5
      )
      ORDER BY ${order} LIMIT 1
    ), claimed AS (
      INSERT INTO restore_drill_claims AS claim (repository_name, holder, until)
      SELECT key, $5, now() + $6::int * interval '1 ms' FROM chosen
      ON CONFLICT (repository_name) DO UPDATE SET holder = excluded.holder, until = excluded.until
      WHERE claim.until <= now() OR claim.holder = excluded.holder
      RETURNING repository_name
    )
    SELECT name AS repository, ${iso('found_empty_at')} AS found_empty_at, coalesce(storages, '[]')::text AS storages,
      (SELECT failure.storage FROM (${standingFailures('$1::timestamptz')}) AS failure
        WHERE failure.key = chosen.key) AS failed_in,
      (SELECT coalesce(json_agg(given), '[]')::text FROM (
        SELECT DISTINCT ON (store) store, version FROM archive_stores
        WHERE lower(repo_full_name) = key AND stored_at IS NOT NULL AND unused_since IS NULL ORDER BY store, stored_at DESC
      ) AS given) AS stored,
      (EXISTS (SELECT FROM claimed))::int AS claimed
    FROM chosen`,
};

interface ClaimedRow {
  repository: string;
  /** JSON, like `stored`. */
  storages: string;
  stored: string;
  failed_in: string | null;
  found_empty_at: string | null;
  claimed: number;
}

/** How many times in a row another worker may be quicker to claim the chosen repository. */
const MAX_CHOICES = 20;

/** How long a claim holds without being renewed. */
const DRILL_CLAIM_MS = 3 * 60_000;

/**
 * Claims the repository to drill next: the one with the oldest proof, weighted by the versions made since. Null if none
 * is due, except those that other workers are drilling.
 */
export async function claimDrill(
  db: Database,
  holder: string,
  { now, isForced, only, without }: DueSelection,
): Promise<DueDrill | null> {
  for (let choice = 0; choice < MAX_CHOICES; choice++) {
    const values = [now, isForced, without, only, holder, DRILL_CLAIM_MS];
    const [row] = await db.query<ClaimedRow>(claim, values);
    if (row === undefined) return null;
    if (row.claimed !== 1) continue;
    const { repository, storages, stored, failed_in: failedIn, found_empty_at: foundEmptyAt } = row;
    const [recentStorages, storedIn] = [JSON.parse(storages), JSON.parse(stored)];
    return { repository, recentStorages, failedIn, foundEmptyAt, storedIn };
  }
  return null;
}

const renew: Statement = {
  name: 'renew_drill_claim',
  text: `UPDATE restore_drill_claims SET until = now() + $3::int * interval '1 ms'
    WHERE repository_name = lower($1) AND holder = $2 RETURNING 1 AS held`,
};

/** Renews a claim; false if another worker holds it by now. */
export async function renewDrillClaim(
  db: Database,
  holder: string,
  repository: string,
): Promise<boolean> {
  return (await db.query(renew, [repository, holder, DRILL_CLAIM_MS])).length > 0;
}

const release: Statement = {
  name: 'release_drill_claim',
  text: 'DELETE FROM restore_drill_claims WHERE repository_name = lower($1) AND holder = $2',
};

/** Releases a claim. */
export async function releaseDrillClaim(
  db: Database,
  holder: string,
  repository: string,
): Promise<void> {
  await db.query(release, [repository, holder]);
}
