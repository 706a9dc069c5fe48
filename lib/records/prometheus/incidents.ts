import type { Database, Statement } from '../../database/database.ts';

/** How many incidents of a rule are open, and how many repositories they affect. */
export interface IncidentMetrics {
  rule: string;
  acknowledged: number;
  unacknowledged: number;
  /** Repositories that are still affected; one that is in two incidents counts twice. */
  repositories: number;
}

/** We have fewer rules, but another program may add its own. */
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

/** Reads the open incidents by rule, without rules that have none. Waits for at most `timeoutMs`. */
export function readIncidentMetrics(db: Database, timeoutMs: number): Promise<IncidentMetrics[]> {
  return db.query<IncidentMetrics>(incidentMetrics, [], { timeoutMs });
}
