import type { Database, Statement } from '../../database/database.ts';
import { type Finding, type RuleName, repositorySeverity } from '../rules/rule.ts';

/** A subject that has opened this many incidents within a day is flapping, and the last one stays open. */
const MAX_OPENED_A_DAY = 3;

/** A finding, with its rule. */
export type FoundIncident = Finding & { rule: RuleName };

/** What an evaluation changed. */
export interface Evaluated {
  opened: number;
  resolved: number;
}

const readNumber: Statement = {
  name: 'alert_evaluation',
  text: 'SELECT evaluation::text FROM alert_evaluation WHERE id = 1',
};

const insertNumber: Statement = {
  name: 'first_alert_evaluation',
  text: 'INSERT INTO alert_evaluation (id) VALUES (1) ON CONFLICT DO NOTHING',
};

/** The number of evaluations so far. Read it before the data that rules are evaluated on. */
export async function readEvaluation(db: Database): Promise<number> {
  const [row] = await db.query<{ evaluation: string }>(readNumber);
  if (row !== undefined) return Number(row.evaluation);
  await db.query(insertNumber);
  return 0;
}

const isDue = `coalesce(incident.reminded_at, incident.opened_at) <= $1::timestamptz - interval '1 day'
  AND (incident.acknowledged_at IS NULL OR EXISTS (
    SELECT FROM incident_repositories AS new WHERE new.incident_id = incident.id AND new.resolved_at IS NULL
      AND new.joined_at > greatest(incident.acknowledged_at, incident.reminded_at)
  ))`;

const flaps = `(
  SELECT count(*) FROM (
    SELECT FROM incidents AS other WHERE other.rule = incident.rule AND other.subject = incident.subject
      AND other.opened_at > $1::timestamptz - interval '1 day' LIMIT ${MAX_OPENED_A_DAY}
  ) AS lately
) >= ${MAX_OPENED_A_DAY}`;

// A loss that joins is told at once if it is worse than what is there, a lost archive always, unless it only comes back
// within a day. Of two concurrent evaluations, the second waits for the row, finds a different number than it read, and changes
// nothing: its findings may be older than those of the first.
const apply: Statement = {
  name: 'apply_alert_findings',
  text: `WITH mine AS (
      UPDATE alert_evaluation SET evaluation = evaluation + 1, evaluated_at = least(evaluated_at, $1::timestamptz)
      WHERE id = 1 AND evaluation = $2::bigint RETURNING id
    ), found AS MATERIALIZED (
      SELECT rule, coalesce(subject, '') AS subject, coalesce(summary, '') AS summary,
        coalesce(details, '{}'::jsonb) AS details, coalesce(repositories, '[]'::jsonb) AS repositories
      FROM jsonb_to_recordset($3::jsonb)
        AS given (rule text, subject text, summary text, details jsonb, repositories jsonb)
      WHERE EXISTS (SELECT FROM mine)
    ), worst AS MATERIALIZED (
      SELECT incident.id, found.repositories, coalesce(max(member.severity), 0) AS severity
      FROM found JOIN incidents AS incident USING (rule, subject)
      LEFT JOIN incident_repositories AS member ON member.incident_id = incident.id AND member.resolved_at IS NULL
      WHERE incident.resolved_at IS NULL GROUP BY incident.id, found.repositories
    ), urgent AS MATERIALIZED (
      SELECT DISTINCT worst.id
      FROM worst CROSS JOIN LATERAL jsonb_to_recordset(worst.repositories) AS joining (name text, severity int)
      WHERE joining.severity > least(worst.severity, ${repositorySeverity.loss}) AND NOT EXISTS (
        SELECT FROM incident_repositories AS known
        WHERE known.incident_id = worst.id AND known.repository_name = joining.name
          AND known.severity >= joining.severity
          AND coalesce(known.resolved_at, 'infinity') > $1::timestamptz - interval '1 day'
      )
    ), seen AS (
      UPDATE incidents AS incident SET last_seen_at = $1::timestamptz, clear_since = NULL,
        summary = found.summary, details = found.details,
        reminded_at = CASE WHEN ${isDue} OR incident.id IN (SELECT id FROM urgent) THEN $1::timestamptz ELSE incident.reminded_at END
      FROM found
      WHERE incident.rule = found.rule AND incident.subject = found.subject AND incident.resolved_at IS NULL
      RETURNING incident.id, incident.rule, incident.subject
    ), opened AS (
      INSERT INTO incidents (rule, subject, summary, details, opened_at, last_seen_at)
      SELECT rule, subject, summary, details, $1::timestamptz, $1::timestamptz FROM found
      WHERE NOT EXISTS (
        SELECT FROM incidents AS open
        WHERE open.rule = found.rule AND open.subject = found.subject AND open.resolved_at IS NULL
      )
      ORDER BY array_position($4::text[], rule), subject
      ON CONFLICT DO NOTHING RETURNING id, rule, subject
    ), listed AS MATERIALIZED (
      SELECT current.id AS incident_id, concerned.*
      FROM (SELECT * FROM seen UNION ALL SELECT * FROM opened) AS current
      JOIN found USING (rule, subject)
      CROSS JOIN LATERAL jsonb_to_recordset(found.repositories)
        AS concerned (name text, reason text, since timestamptz, severity int)
    ), joined AS (
      INSERT INTO incident_repositories AS known (incident_id, repository_name, reason, since, joined_at, severity)
      SELECT DISTINCT ON (incident_id, name) incident_id, name, coalesce(reason, ''), since, $1::timestamptz,
        coalesce(severity, 0)
      FROM listed ORDER BY incident_id, name
      ON CONFLICT (incident_id, repository_name) DO UPDATE SET
        reason = excluded.reason, since = excluded.since, resolved_at = NULL, severity = excluded.severity,
        joined_at = CASE WHEN known.resolved_at IS NULL THEN known.joined_at ELSE excluded.joined_at END
      WHERE (known.reason, known.since, known.resolved_at, known.severity)
        IS DISTINCT FROM (excluded.reason, excluded.since, NULL::timestamptz, excluded.severity)
    ), gone AS (
      UPDATE incident_repositories AS known SET resolved_at = $1::timestamptz FROM seen
      WHERE known.incident_id = seen.id AND known.resolved_at IS NULL AND NOT EXISTS (
        SELECT FROM listed WHERE listed.incident_id = known.incident_id AND listed.name = known.repository_name
      )
    ), clear AS (
      UPDATE incidents AS incident SET clear_since = coalesce(clear_since, $1::timestamptz),
        resolved_at = CASE
          WHEN clear_since <= $1::timestamptz - interval '1 day' OR NOT ${flaps} THEN $1::timestamptz
        END
      WHERE resolved_at IS NULL AND rule = ANY ($4::text[]) AND EXISTS (SELECT FROM mine) AND NOT EXISTS (
        SELECT FROM found WHERE found.rule = incident.rule AND found.subject = incident.subject
      )
      RETURNING id, resolved_at
    ), well AS (
      UPDATE incident_repositories AS known SET resolved_at = $1::timestamptz FROM clear
      WHERE known.incident_id = clear.id AND clear.resolved_at IS NOT NULL AND known.resolved_at IS NULL
    )
    SELECT (SELECT count(*) FROM mine)::int AS applied, (SELECT count(*) FROM opened)::int AS opened,
      (SELECT count(*) FROM clear WHERE resolved_at IS NOT NULL)::int AS resolved`,
};

/** The parameters of `applyFindings`. */
export interface Findings {
  /** Milliseconds since the epoch. */
  now: number;
  /** From `readEvaluation`. */
  evaluation: number;
  /** The rules that were evaluated, in the order of their incidents. Incidents of other rules stay as they are. */
  evaluated: readonly RuleName[];
  found: readonly FoundIncident[];
}

/**
 * Opens incidents for new findings, keeps those open that still hold, resolves the rest, and marks due reminders. Runs
 * as one transaction. A flapping incident stays open until it has been clear for a day. Returns null and changes
 * nothing if another evaluation was applied since `evaluation` was read.
 */
export async function applyFindings(
  db: Database,
  { now, evaluation, evaluated, found }: Findings,
): Promise<Evaluated | null> {
  const values = [new Date(now).toISOString(), evaluation, JSON.stringify(found), evaluated];
  const [row] = await db.query<Evaluated & { applied: number }>(apply, values);
  if (row === undefined || row.applied === 0) return null;
  return { opened: row.opened, resolved: row.resolved };
}
