import type { Database, SqlValue, Statement } from '../../database/database.ts';
import {
  iso,
  jsonArray,
  jsonObject,
  type Page,
  type PageRequest,
  pageOffset,
  readObject,
  readPage,
} from '../../records/base/page.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { type RuleName, ruleNames } from '../rules/rule.ts';
import { rules } from '../rules/rules.ts';

/** Maximum number of repositories, and of deliveries, that are listed with an incident. */
export const MAX_LISTED = 100;
/** Maximum number of repositories that are named in an incident's short form. */
export const MAX_NAMED_IN_SHORT = 10;

/** Maximum number of open incidents in their short form. */
export const MAX_OPEN = 20;
/** Nothing is worse than a lost archive: it comes before all others. */
const WORST: RuleName = 'archive_lost';

/** `open`: not resolved, acknowledged or not. */
export const incidentStates = ['open', 'acknowledged', 'resolved'] as const;

/** Selects incidents. */
export interface IncidentSelection {
  state?: (typeof incidentStates)[number] | undefined;
  rule?: RuleName | undefined;
  /** Only those that concern this repository now, or did until they were resolved. The letter case does not matter. */
  repository?: string | undefined;
}

// Must not contain single quotes or backslashes, which a test checks.
const known = JSON.stringify(
  Object.fromEntries(
    ruleNames.map((name) => {
      const { title, severity, advice } = rules[name];
      return [name, { title, severity, advice }];
    }),
  ),
);

/** SQL for a property of the rule of the row `incident`; NULL for a rule of another release. */
export const ofRule = (field: 'title' | 'severity' | 'advice') =>
  `'${known}'::jsonb -> incident.rule ->> '${field}'`;

/** SQL for the repositories that an incident concerns, or concerned until it was resolved. */
const concerned = `incident_repositories AS concerned WHERE concerned.incident_id = incident.id
  AND (concerned.resolved_at IS NULL OR concerned.resolved_at = incident.resolved_at)`;

/** The columns of an Incident in order. */
const incidentColumns = `id, rule, subject, coalesce(${ofRule('title')}, rule) AS title,
  coalesce(${ofRule('severity')}, 'warning') AS severity,
  CASE WHEN resolved_at IS NOT NULL THEN 'resolved' WHEN acknowledged_at IS NOT NULL THEN 'acknowledged'
    ELSE 'open' END AS state,
  ${cutTextSql('summary', 1_000)} AS summary, ${ofRule('advice')} AS advice, details, ${iso('opened_at')} AS opened_at,
  ${iso('last_seen_at')} AS last_seen_at, ${iso('reminded_at')} AS reminded_at,
  CASE WHEN isfinite(acknowledged_at) THEN ${iso('acknowledged_at')} END AS acknowledged_at, acknowledged_by,
  ${iso('resolved_at')} AS resolved_at,
  (SELECT count(*) FROM ${concerned}) AS repository_count,
  (SELECT coalesce(json_agg(item), '[]') FROM (
    SELECT repository_name AS name, ${cutTextSql('reason', 400)} AS reason, ${iso('since')} AS since
    FROM ${concerned} ORDER BY concerned.severity DESC, concerned.repository_name LIMIT ${MAX_LISTED}
  ) AS item) AS repositories,
  (SELECT coalesce(json_agg(item), '[]') FROM (
    SELECT kind, channel, ${iso('created_at')} AS created_at, attempts,
      CASE WHEN delivered_at IS NOT NULL THEN 'delivered'
        WHEN given_up_at IS NOT NULL THEN CASE WHEN held_by = 'maintenance' AND notice_id IS NULL THEN 'dropped' ELSE 'given_up' END
        WHEN notice_id IS NULL AND held_by <> 'undecided' THEN 'held' ELSE 'waiting' END AS state,
      nullif(held_by, 'undecided') AS held_by,
      ${iso('delivered_at')} AS delivered_at, last_error
    FROM alert_deliveries AS delivery WHERE delivery.incident_id = incident.id
    ORDER BY delivery.about_at DESC, delivery.id DESC LIMIT ${MAX_LISTED}
  ) AS item) AS deliveries`;

const inState = {
  open: 'resolved_at IS NULL',
  acknowledged: 'resolved_at IS NULL AND acknowledged_at IS NOT NULL',
  resolved: 'resolved_at IS NOT NULL',
} as const;

/** The incidents that match, newest first. */
export function listIncidents(
  db: Database,
  request: PageRequest,
  { state, rule, repository }: IncidentSelection,
): Promise<Page> {
  const values: SqlValue[] = [request.limit, pageOffset(request)];
  const conditions: string[] = state === undefined ? [] : [inState[state]];
  if (rule !== undefined) conditions.push(`rule = $${values.push(rule)}`);
  if (repository !== undefined) {
    conditions.push(`id IN (
      SELECT incident_id FROM incident_repositories AS named
      WHERE lower(named.repository_name) = lower($${values.push(repository)})
        AND (named.resolved_at IS NULL OR named.resolved_at = incident.resolved_at)
    )`);
  }
  const from = `FROM incidents AS incident ${conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''}`;
  const names = [
    state ?? '',
    rule === undefined ? '' : 'rule',
    repository === undefined ? '' : 'repository',
  ];
  const statement: Statement = {
    name: `incidents_${names.join('_')}`,
    text: `SELECT ${jsonArray(`SELECT ${incidentColumns} FROM (
        SELECT * ${from} ORDER BY incident.opened_at DESC, incident.id DESC LIMIT $1::bigint OFFSET $2::bigint
      ) AS incident ORDER BY incident.opened_at DESC, incident.id DESC`)} AS items,
      (SELECT count(*) ${from})::text AS total`,
  };
  return readPage(db, statement, values);
}

const acknowledge: Statement = {
  name: 'acknowledge_incident',
  text: `WITH acknowledged AS (
      UPDATE incidents SET acknowledged_at = $3::timestamptz, acknowledged_by = $2
      WHERE id = $1::bigint AND acknowledged_at IS NULL AND resolved_at IS NULL
      RETURNING id, acknowledged_at, acknowledged_by
    )
    SELECT ${jsonObject(`
      SELECT incident.id, ${iso('coalesce(acknowledged.acknowledged_at, incident.acknowledged_at)')} AS acknowledged_at,
        coalesce(acknowledged.acknowledged_by, incident.acknowledged_by) AS acknowledged_by,
        ${iso('incident.resolved_at')} AS resolved_at
      FROM incidents AS incident LEFT JOIN acknowledged ON acknowledged.id = incident.id
      WHERE incident.id = $1::bigint`)} AS item`,
};

/**
 * Acknowledges an incident, which ends its reminders unless a repository joins. Changes nothing if it is already
 * acknowledged or resolved. Returns it as JSON; null if there is none. `now` is in milliseconds since the epoch.
 */
export function acknowledgeIncident(
  db: Database,
  id: number,
  { by, now }: { by: string; now: number },
): Promise<string | null> {
  return readObject(db, acknowledge, [id, by, new Date(now).toISOString()]);
}

const openOnes: Statement = {
  name: 'open_incidents_of_health',
  text: `SELECT ${jsonArray(`
    SELECT id, rule, subject, coalesce(${ofRule('severity')}, 'warning') AS severity,
      ${cutTextSql('summary', 300)} AS summary, ${ofRule('advice')} AS advice, ${iso('opened_at')} AS opened_at,
      acknowledged_at IS NOT NULL AS acknowledged, (SELECT count(*) FROM ${concerned}) AS repository_count,
      (SELECT coalesce(json_agg(repository_name), '[]') FROM (
        SELECT repository_name FROM ${concerned}
        ORDER BY concerned.severity DESC, concerned.repository_name LIMIT ${MAX_NAMED_IN_SHORT}
      ) AS named) AS repositories
    FROM incidents AS incident WHERE resolved_at IS NULL
    ORDER BY incident.rule <> '${WORST}', ${ofRule('severity')} = 'critical' DESC NULLS LAST, incident.opened_at DESC,
      incident.id DESC LIMIT ${MAX_OPEN}`)} AS items`,
};

/** The short form of an open incident. */
export interface OpenIncident {
  id: number;
  rule: string;
  subject: string;
  severity: string;
  summary: string;
  /** What to do; null for a rule of another release. */
  advice: string | null;
  opened_at: string;
  acknowledged: boolean;
  repository_count: number;
  /** At most MAX_NAMED_IN_SHORT names. */
  repositories: string[];
}

/**
 * The open incidents, at most MAX_OPEN: lost archives first, then critical ones, then the newest. Waits for at most
 * `timeoutMs`.
 */
export async function readOpenIncidents(db: Database, timeoutMs?: number): Promise<OpenIncident[]> {
  const options = timeoutMs === undefined ? {} : { timeoutMs };
  const [row] = await db.query<{ items: string }>(openOnes, [], options);
  return JSON.parse(row?.items ?? '[]') as OpenIncident[];
}

const urgentOnes: Statement = {
  name: 'urgent_incidents',
  text: `WITH unresolved AS MATERIALIZED (
      SELECT id, rule, opened_at, coalesce(${ofRule('title')}, rule) AS title,
        coalesce(${ofRule('severity')}, 'warning') AS severity, ${cutTextSql('summary', 300)} AS summary,
        ${ofRule('advice')} AS advice, acknowledged_at IS NOT NULL AS acknowledged
      FROM incidents AS incident WHERE resolved_at IS NULL
    )
    SELECT ${jsonObject(`
      SELECT count(*) AS open, count(*) FILTER (WHERE severity = 'critical') AS critical,
        (SELECT coalesce(json_agg(item), '[]') FROM (
          SELECT id, title, severity, summary, advice, acknowledged, ${iso('opened_at')} AS opened_at
          FROM unresolved ORDER BY rule <> '${WORST}', severity <> 'critical', unresolved.opened_at DESC, id DESC LIMIT $1::bigint
        ) AS item) AS first
      FROM unresolved`)} AS item`,
};

/** How many incidents are open, and the first of them. */
export interface UrgentIncidents {
  open: number;
  critical: number;
  first: (Omit<OpenIncident, 'rule' | 'subject' | 'repository_count' | 'repositories'> & {
    title: string;
  })[];
}

/** The first open incidents: lost archives, then other critical ones before all others, then the newest. Counts all of them. */
export async function readUrgentIncidents(db: Database, limit: number): Promise<UrgentIncidents> {
  const item = await readObject(db, urgentOnes, [limit]);
  if (item === null) throw new Error(`${urgentOnes.name} returned no row`);
  return JSON.parse(item) as UrgentIncidents;
}
