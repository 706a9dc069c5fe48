import type { Database, Statement } from '../../database/database.ts';

/** An outage of the database that was alerted without the database. */
export interface Outage {
  /** ISO 8601. */
  since: string;
  summary: string;
  /** The channels that were alerted, or may have been. */
  told: readonly { channel: string; delivered: string | null; attempts: number }[];
}

const insert: Statement = {
  name: 'record_outage',
  text: `WITH opened AS (
      INSERT INTO incidents (rule, subject, summary, opened_at, last_seen_at)
      SELECT 'database_unreachable', '', $2, $1::timestamptz, now()
      WHERE NOT EXISTS (
        SELECT FROM incidents AS known WHERE rule = 'database_unreachable' AND opened_at = $1::timestamptz
      )
      ON CONFLICT DO NOTHING RETURNING id, opened_at
    )
    INSERT INTO alert_deliveries (incident_id, kind, about_at, channel, attempts, unclear, delivered_at, given_up_at, last_error)
    SELECT id, 'opened', opened_at, channel, attempts, CASE WHEN delivered IS NULL THEN 1 ELSE 0 END, delivered,
      CASE WHEN delivered IS NULL THEN now() END, CASE WHEN delivered IS NULL THEN 'it may have arrived' END
    FROM opened, jsonb_to_recordset($3::jsonb)
      AS told (channel text, delivered timestamptz, attempts int)
    ON CONFLICT DO NOTHING`,
};

/** Opens the incident of an outage, and records what was sent. Safe to repeat. */
export async function recordOutage(db: Database, { since, summary, told }: Outage): Promise<void> {
  await db.query(insert, [since, summary, JSON.stringify(told)]);
}
