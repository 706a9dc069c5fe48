import type { Database, Statement } from '../../database/database.ts';
import { newestResults } from '../base/newest-results.ts';
import { iso, jsonArray, jsonObject } from '../base/page.ts';
import { isArchiveGone, wasRead } from '../base/was-read.ts';
import { hasHappened, proves } from './newest-drill.ts';

/** The time from `from` (inclusive) to `to` (exclusive), in ISO 8601. */
export interface EvidencePeriod {
  from: string;
  to: string;
  /** When the evidence is made. A drill recorded with a clock ahead of this time proves nothing. */
  now: string;
}

/** The totals of the drills of a period. */
export interface EvidenceFacts {
  drills: number;
  proven: number;
  failed: number;
  incomplete: number;
  /** Repositories that were never backed up, and those whose archive is gone while no store has a copy. */
  never: number;
  gone: number;
  /** All others, which are backed up, and how many of them were proven in the period. */
  repositories: number;
  proven_repositories: number;
}

const facts: Statement = {
  name: 'drill_evidence_facts',
  text: `WITH ${newestResults}, judged AS MATERIALIZED (
      SELECT repo_full_name, ${wasRead('newest')} AS was_read, ${isArchiveGone('newest')} AS is_gone FROM newest
    ), drill AS (
      SELECT lower(repository_name) AS key, outcome, evidence, started_at FROM restore_drills
      WHERE started_at >= $1::timestamptz AND started_at < $2::timestamptz
    )
    SELECT ${jsonObject(`
      SELECT count(*) AS drills, count(*) FILTER (WHERE outcome = 'proven') AS proven,
        count(*) FILTER (WHERE outcome = 'failed') AS failed,
        count(*) FILTER (WHERE outcome = 'incomplete') AS incomplete,
        (SELECT count(*) FROM judged WHERE NOT was_read) AS never,
        (SELECT count(*) FROM judged WHERE was_read AND is_gone) AS gone,
        (SELECT count(*) FROM judged WHERE was_read AND NOT is_gone) AS repositories,
        (SELECT count(*) FROM judged WHERE was_read AND NOT is_gone AND lower(repo_full_name) IN (
          SELECT key FROM drill WHERE ${proves('judged.repo_full_name')} AND ${hasHappened('$3::timestamptz')}
        )) AS proven_repositories
      FROM drill`)} AS item`,
};

/** Reads the totals of the drills of a period. */
export async function readEvidenceFacts(
  db: Database,
  { from, to, now }: EvidencePeriod,
): Promise<EvidenceFacts> {
  const [row] = await db.query<{ item: string }>(facts, [from, to, now]);
  return JSON.parse(row?.item ?? '{}');
}

/** A drill as an auditor sees it. */
export interface EvidenceDrill {
  id: number;
  repository: string;
  version: number | null;
  storage: string;
  started_at: string;
  /** Whether `started_at` is later than the time at which the evidence is made. */
  is_ahead: boolean;
  duration_ms: number;
  bytes: number;
  outcome: string;
  reason: string | null;
  refs_sha256: string | null;
  tree_sha: string | null;
  sha256: string;
}

const drills: Statement = {
  name: 'drill_evidence_page',
  text: `SELECT ${jsonArray(`
    SELECT id, repository_name AS repository, version, storage, ${iso('started_at')} AS started_at,
      NOT ${hasHappened('$6::timestamptz')} AS is_ahead, duration_ms, bytes, outcome, reason, evidence ->> 'refs_sha256' AS refs_sha256, evidence ->> 'tree_sha' AS tree_sha, sha256
    FROM restore_drills AS drill
    WHERE drill.started_at >= $1::timestamptz AND drill.started_at < $2::timestamptz
      AND (drill.started_at, drill.id) > ($3::timestamptz, $4::bigint)
    ORDER BY drill.started_at, drill.id LIMIT $5::int`)} AS items`,
};

/** The drills of a period that follow the drill `after`, oldest first. */
export async function readEvidenceDrills(
  db: Database,
  { from, to, now }: EvidencePeriod,
  after: Pick<EvidenceDrill, 'id' | 'started_at'> | null,
  limit: number,
): Promise<EvidenceDrill[]> {
  const values = [from, to, after?.started_at ?? from, after?.id ?? 0, limit, now];
  const [row] = await db.query<{ items: string }>(drills, values);
  return JSON.parse(row?.items ?? '[]');
}

/**
 * A repository that was backed up, with its last proof in a period and the last drill that failed after it in the
 * period.
 */
export interface EvidenceRepository {
  name: string;
  proven_at: string | null;
  version: number | null;
  storage: string | null;
  failed_at: string | null;
  failed_storage: string | null;
  reason: string | null;
  /** Whether its archive is missing, while no store has a copy. */
  is_gone: boolean;
}

const repositories: Statement = {
  name: 'drill_evidence_repositories',
  text: `WITH ${newestResults}, chosen AS (
      SELECT repo_full_name AS name, ${isArchiveGone('newest')} AS is_gone FROM newest
      WHERE repo_full_name COLLATE "C" > $3 COLLATE "C" AND ${wasRead('newest')}
      ORDER BY repo_full_name COLLATE "C" LIMIT $4::int
    )
    SELECT ${jsonArray(`
      SELECT name, ${iso('proof.started_at')} AS proven_at, proof.version, proof.storage,
        ${iso('failure.started_at')} AS failed_at, failure.storage AS failed_storage, failure.reason, is_gone
      FROM chosen
      LEFT JOIN LATERAL (
        SELECT started_at, version, storage FROM restore_drills AS drill
        WHERE lower(drill.repository_name) = lower(name) AND ${proves('name')}
          AND drill.started_at >= $1::timestamptz AND drill.started_at < $2::timestamptz
          AND ${hasHappened('$5::timestamptz')}
        ORDER BY drill.started_at DESC, drill.id DESC LIMIT 1
      ) AS proof ON true
      LEFT JOIN LATERAL (
        SELECT started_at, storage, reason FROM restore_drills AS drill
        WHERE lower(drill.repository_name) = lower(name) AND drill.outcome = 'failed'
          AND drill.started_at >= greatest($1::timestamptz, proof.started_at)
          AND drill.started_at < $2::timestamptz
        ORDER BY drill.started_at DESC, drill.id DESC LIMIT 1
      ) AS failure ON true
      ORDER BY name COLLATE "C"`)} AS items`,
};

/** Up to `limit` repositories that were backed up, sorted by name, from the one that follows `after`. */
export async function readEvidenceRepositories(
  db: Database,
  { from, to, now }: EvidencePeriod,
  after: string,
  limit: number,
): Promise<EvidenceRepository[]> {
  const [row] = await db.query<{ items: string }>(repositories, [from, to, after, limit, now]);
  return JSON.parse(row?.items ?? '[]');
}
