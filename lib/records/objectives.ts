import type { Database, Statement } from '../database/database.ts';
import { newestResults } from './base/newest-results.ts';
import { isArchiveGone } from './base/was-read.ts';
import { hasHappened } from './drills/newest-drill.ts';

/** The days over which attainment is measured. */
export const ATTAINMENT_DAYS = 90;
/** Each takes a pass over the names of all repositories. */
export const MAX_OBJECTIVES = 20;

/** What is wanted of a group of repositories. */
export interface Objective {
  id: number;
  name: string;
  patterns: string[];
  /** A repository belongs to the first objective that matches, by this number and then by id. */
  position: number;
  /** How old the newest backup may be; null for no such objective. */
  rpo_hours: number | null;
  /** How long a restore may take; null for no such objective. */
  rto_minutes: number | null;
}

const columns = 'id, name, patterns, position, rpo_hours, rto_minutes';
const asJson = (
  row: string,
) => `json_build_object('id', ${row}.id, 'name', ${row}.name, 'patterns', ${row}.patterns,
  'position', ${row}.position, 'rpo_hours', ${row}.rpo_hours, 'rto_minutes', ${row}.rto_minutes)`;

const list: Statement = {
  name: 'list_objectives',
  text: `SELECT coalesce(json_agg(${asJson('objective')} ORDER BY objective.position, objective.id), '[]')::text AS items
    FROM (SELECT ${columns} FROM objectives ORDER BY position, id LIMIT ${MAX_OBJECTIVES}) AS objective`,
};

/** The objectives in the order in which they are matched. */
export async function listObjectives(db: Database): Promise<Objective[]> {
  const [row] = await db.query<{ items: string }>(list);
  return JSON.parse(row?.items ?? '[]');
}

/** Why an objective was not stored. */
export type Refusal = 'taken' | 'full' | 'unknown';

const add: Statement = {
  name: 'add_objective',
  text: `WITH added AS (
      INSERT INTO objectives (name, patterns, position, rpo_hours, rto_minutes, changed_by)
      SELECT $1, $2::text[], $3::int, $4::int, $5::int, $6
      WHERE (SELECT count(*) FROM objectives) < ${MAX_OBJECTIVES}
      ON CONFLICT (lower(name)) DO NOTHING RETURNING ${columns}
    )
    SELECT (SELECT ${asJson('added')}::text FROM added) AS item,
      EXISTS (SELECT FROM objectives WHERE lower(name) = lower($1)) AS is_taken`,
};

/** Adds an objective, unless its name is taken in any letter case or there are too many. */
export async function addObjective(
  db: Database,
  wanted: Omit<Objective, 'id'>,
  by: string,
): Promise<Objective | Refusal> {
  type Row = { item: string | null; is_taken: boolean };
  const [row] = await db.query<Row>(add, [...valuesOf(wanted), by]);
  if (row?.item) return JSON.parse(row.item);
  return row?.is_taken ? 'taken' : 'full';
}

const change: Statement = {
  name: 'change_objective',
  text: `WITH changed AS (
      UPDATE objectives AS kept SET name = $1, patterns = $2::text[], position = $3::int, rpo_hours = $4::int,
        rto_minutes = $5::int, changed_by = $6
      WHERE id = $7::bigint AND NOT EXISTS (
        SELECT FROM objectives AS other WHERE lower(other.name) = lower($1) AND other.id <> kept.id
      ) RETURNING ${columns}
    )
    SELECT (SELECT ${asJson('changed')}::text FROM changed) AS item,
      EXISTS (SELECT FROM objectives WHERE id = $7::bigint) AS is_known`,
};

/** Changes an objective, unless its new name is taken in any letter case. */
export async function changeObjective(
  db: Database,
  { id, ...wanted }: Objective,
  by: string,
): Promise<Objective | Refusal> {
  type Row = { item: string | null; is_known: boolean };
  const [row] = await db.query<Row>(change, [...valuesOf(wanted), by, id]);
  if (row?.item) return JSON.parse(row.item);
  return row?.is_known ? 'taken' : 'unknown';
}

function valuesOf({ name, patterns, position, rpo_hours, rto_minutes }: Omit<Objective, 'id'>) {
  return [name, patterns, position, rpo_hours, rto_minutes] as const;
}

const remove: Statement = {
  name: 'remove_objective',
  text: 'DELETE FROM objectives WHERE id = $1::bigint RETURNING 1 AS removed',
};

/** Removes an objective. False if there is none. */
export async function removeObjective(db: Database, id: number): Promise<boolean> {
  return (await db.query(remove, [id])).length > 0;
}

/** How far an objective was attained, from its repositories together. */
export interface Attainment {
  id: number;
  repositories: number;
  /** Null without an RPO. */
  rpo: {
    /** The times of all its repositories added up: measured, and with a newest backup that was young enough. */
    measured_ms: number;
    met_ms: number;
    /** Repositories whose newest backup is young enough now. */
    within_now: number;
    /** The first moment that is measured; null without repositories. */
    measured_since: string | null;
  } | null;
  /** Null without an RTO. */
  rto: {
    /** Drills that ended, and those that restored in time. */
    drills: number;
    within: number;
    /** The longest one that was proven; null if there is none. */
    slowest_ms: number | null;
  } | null;
}

/** The attainment of all objectives, and how many repositories belong to none. */
export interface Attainments {
  objectives: Attainment[];
  without: number;
}

const isoMs = (time: string) =>
  `to_char(${time} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const ms = (interval: string) => `extract(epoch FROM ${interval}) * 1000`;
const isGood = "status IN ('completed', 'success', 'empty')";

// A repository is measured from its first result on, at most 90 days back. At any time it has met its RPO if it was
// found good less than that before. `found` are the times when it was, in order, with the last one before the window and
// a last one that stands for now: between two of them, whatever is longer than the RPO is missed.
const attainment: Statement = {
  name: 'objective_attainment',
  text: `WITH ${newestResults}, span AS MATERIALIZED (
      SELECT $1::timestamptz AS now, $1::timestamptz - interval '${ATTAINMENT_DAYS} days' AS from
    ), rule AS MATERIALIZED (
      SELECT * FROM jsonb_to_recordset($2::jsonb) AS rule (place int, id int, regex text, rpo_hours int, rto_minutes int)
    ), matched AS (
      SELECT newest.repo_full_name AS name, min(rule.place) AS place
      FROM rule JOIN newest ON newest.repo_full_name ~* rule.regex GROUP BY 1
    ), member AS MATERIALIZED (
      SELECT newest.repo_full_name AS name, rule.id, rule.rpo_hours * interval '1 hour' AS rpo, rule.rto_minutes,
        greatest(span.from, least(span.now, (
          SELECT min(result.created_at) FROM backup_results AS result WHERE result.repo_full_name = newest.repo_full_name
        ))) AS start,
        CASE WHEN ${isArchiveGone('newest')} THEN (
          SELECT min(state.archive_missing_since) FROM worker_repo_state AS state
          WHERE state.repo_full_name = newest.repo_full_name
        ) END AS gone_since
      FROM matched JOIN newest ON newest.repo_full_name = matched.name JOIN rule USING (place) CROSS JOIN span
    ), found AS (
      SELECT member.name, result.created_at AS since, result.created_at AS until
      FROM member CROSS JOIN span JOIN backup_results AS result ON result.repo_full_name = member.name
      WHERE rpo IS NOT NULL AND ${isGood} AND result.created_at >= span.from AND result.created_at <= span.now
      UNION ALL
      SELECT member.name, kept.since, least(kept.until, span.now)
      FROM member CROSS JOIN span JOIN repository_checks AS kept ON kept.repo_full_name = member.name
      WHERE rpo IS NOT NULL AND kept.until >= span.from AND kept.since <= span.now
      UNION ALL
      SELECT member.name, before.at, before.at FROM member CROSS JOIN span CROSS JOIN LATERAL (
        SELECT max(at) AS at FROM (
          (SELECT created_at AS at FROM backup_results AS result WHERE result.repo_full_name = member.name
            AND status IN ('completed', 'success') AND result.created_at < span.from
            ORDER BY result.created_at DESC, result.id DESC LIMIT 1)
          UNION ALL
          (SELECT created_at FROM backup_results AS result WHERE result.repo_full_name = member.name
            AND status = 'empty' AND result.created_at < span.from
            ORDER BY result.created_at DESC, result.id DESC LIMIT 1)
          UNION ALL
          (SELECT until FROM repository_checks AS kept WHERE kept.repo_full_name = member.name
            AND kept.until < span.from ORDER BY kept.until DESC LIMIT 1)
        ) AS either
      ) AS before WHERE rpo IS NOT NULL AND before.at IS NOT NULL
      UNION ALL
      SELECT member.name, span.now, span.now FROM member CROSS JOIN span WHERE rpo IS NOT NULL
    ), ordered AS (
      SELECT name, since, until,
        max(until) OVER (PARTITION BY name ORDER BY since, until ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
      FROM found
    ), missed AS (
      SELECT member.name, sum(greatest(interval '0', ordered.since
          - greatest(coalesce(ordered.before + member.rpo, member.start), member.start))) AS time,
        max(ordered.before) FILTER (WHERE ordered.since = span.now) AS last_at
      FROM ordered JOIN member USING (name) CROSS JOIN span
      WHERE ordered.before IS NULL OR ordered.since - ordered.before > member.rpo OR ordered.since = span.now
      GROUP BY member.name
    ), judged AS (
      SELECT member.id, member.name, member.start, span.now - member.start AS measured,
        least(span.now - member.start, greatest(missed.time,
          CASE WHEN member.gone_since < span.now THEN span.now - greatest(member.gone_since, member.start) END)) AS missed,
        coalesce(last_at >= span.now - member.rpo, false) AND member.gone_since IS NULL AS is_within
      FROM member CROSS JOIN span JOIN missed USING (name)
    ), ages AS (
      SELECT id, round(sum(${ms('measured')}))::bigint AS measured_ms, round(sum(${ms('measured - missed')}))::bigint AS met_ms,
        count(*) FILTER (WHERE is_within) AS within_now, ${isoMs('min(start)')} AS measured_since
      FROM judged GROUP BY id
    ), drilled AS (
      SELECT member.id, count(*) AS drills,
        count(*) FILTER (WHERE outcome = 'proven' AND duration_ms <= member.rto_minutes * 60000::bigint) AS within,
        max(duration_ms) FILTER (WHERE outcome = 'proven') AS slowest_ms
      FROM member CROSS JOIN span
      JOIN restore_drills AS drill ON lower(drill.repository_name) = lower(member.name)
      WHERE rto_minutes IS NOT NULL AND drill.started_at >= span.from AND ${hasHappened('span.now')}
        AND outcome IN ('proven', 'failed') AND NOT drill.evidence @> '{"empty": true}'
      GROUP BY member.id
    )
    SELECT json_build_object('without', (SELECT count(*) FROM newest) - (SELECT count(*) FROM member),
      'objectives', coalesce(json_agg(json_build_object('id', rule.id,
        'repositories', (SELECT count(*) FROM member WHERE member.id = rule.id),
        'rpo', CASE WHEN rule.rpo_hours IS NOT NULL THEN json_build_object(
          'measured_ms', coalesce(ages.measured_ms, 0), 'met_ms', coalesce(ages.met_ms, 0),
          'within_now', coalesce(ages.within_now, 0), 'measured_since', ages.measured_since) END,
        'rto', CASE WHEN rule.rto_minutes IS NOT NULL THEN json_build_object(
          'drills', coalesce(drilled.drills, 0), 'within', coalesce(drilled.within, 0),
          'slowest_ms', drilled.slowest_ms) END
      ) ORDER BY rule.place), '[]'))::text AS item
    FROM rule LEFT JOIN ages ON ages.id = rule.id LEFT JOIN drilled ON drilled.id = rule.id`,
};

/** An objective with its group as a regular expression, in the order in which they are matched. */
export type ObjectiveRule = Pick<Objective, 'id' | 'rpo_hours' | 'rto_minutes'> & { regex: string };

/** Measures the attainment of objectives over the last 90 days before `now`. Waits for at most `timeoutMs`. */
export async function measureAttainment(
  db: Database,
  now: string,
  rules: readonly ObjectiveRule[],
  timeoutMs: number,
): Promise<Attainments> {
  const placed = rules.map((rule, place) => ({ ...rule, place }));
  const values = [now, JSON.stringify(placed)];
  const [row] = await db.query<{ item: string }>(attainment, values, { timeoutMs });
  if (!row) throw new Error(`${attainment.name} returned no row`);
  return JSON.parse(row.item);
}
