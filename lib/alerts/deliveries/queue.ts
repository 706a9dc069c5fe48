import type { Database, Statement } from '../../database/database.ts';

// An incident has three kinds of messages, each identified by its time. A process queues them for the channels that it
// knows; several processes may know different ones. A channel is sent the end of an incident only if it was sent
// something about the incident before, and nothing that is older than a day. Another process sends none of them before
// `holdMessages` has decided whether it may be sent.
const queue: Statement = {
  name: 'queue_alerts',
  text: `INSERT INTO alert_deliveries (incident_id, kind, about_at, channel, created_at, held_by)
    SELECT incident_id, kind, about_at, channel, $1::timestamptz, 'undecided'
    FROM (
      SELECT id AS incident_id, 'opened' AS kind, opened_at AS about_at FROM incidents
      WHERE opened_at > $1::timestamptz - interval '1 day'
      UNION ALL SELECT id, 'reminder', reminded_at FROM incidents
      WHERE resolved_at IS NULL AND reminded_at > $1::timestamptz - interval '1 day'
      UNION ALL SELECT id, 'resolved', resolved_at FROM incidents
      WHERE resolved_at IS NOT NULL AND resolved_at > $1::timestamptz - interval '1 day'
    ) AS message CROSS JOIN unnest($2::text[]) AS channel
    WHERE kind = 'opened' OR kind = 'reminder' OR EXISTS (
      SELECT FROM alert_deliveries AS earlier
      WHERE earlier.incident_id = message.incident_id AND earlier.channel = channel.channel
        AND NOT (earlier.given_up_at IS NOT NULL AND earlier.unclear = 0)
    )
    ORDER BY about_at, array_position(ARRAY['opened', 'reminder', 'resolved'], kind), incident_id, channel
    ON CONFLICT DO NOTHING`,
};

/** Queues what each of these channels has not been sent yet. `now` is in milliseconds since the epoch. */
export async function queueMessages(
  db: Database,
  channels: readonly string[],
  now: number,
): Promise<void> {
  if (channels.length > 0) await db.query(queue, [new Date(now).toISOString(), channels]);
}
