import type { Database, Statement } from '../../database/database.ts';

/** How many incidents of a rule are open, and what they concern. */
export interface IncidentMetrics {
  rule: string;
  acknowledged: number;
  unacknowledged: number;
  /** Repositories that are in them still; one in two incidents counts twice. */
  repositories: number;
}

/** Ours are fewer; another program may write rules of its own. */
const MAX_RULES = 100;

const incidentMetrics: Statement = {
  name: 'incident_metrics',
  text: `SELECT rule, count(acknowledged_at)::int AS acknowledged,
      (count(*) - count(acknowledged_at))::int AS unacknowledged, sum(repositories)::int AS repositories
    FROM incidents AS incident CROSS JOIN LATERAL (
      SELECT count(*) AS repositories FROM incident_repositories AS member
      WHERE member.incident_id = incident.id AND member.resolved_at IS NULL
    ) AS concerned
    WHERE incident.resolved_at IS NULL
    GROUP BY rule ORDER BY rule LIMIT ${MAX_RULES}`,
};

/** Reads the open incidents by rule; rules without one are left out. Waits for `timeoutMs` at most. */
export function readIncidentMetrics(db: Database, timeoutMs: number): Promise<IncidentMetrics[]> {
  return db.query<IncidentMetrics>(incidentMetrics, [], { timeoutMs });
}
