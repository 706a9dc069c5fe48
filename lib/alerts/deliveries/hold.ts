import type { Database, Statement } from '../../database/database.ts';
import { ofRule } from '../incidents/list.ts';
import { maintenanceAt } from '../telling/maintenance.ts';
import { isMuting } from '../telling/mutes.ts';
import { quietAt } from '../telling/quiet-hours.ts';

/** What keeps a message from being sent on its own. */
export const holders = ['quiet_hours', 'mute', 'maintenance'] as const;

const NOW = '$1::timestamptz';
const isOpen = (delivery: string) =>
  `${delivery}.delivered_at IS NULL AND ${delivery}.given_up_at IS NULL AND ${delivery}.notice_id IS NULL`;

/** The message before this one about the incident. */
const previous = `SELECT max(earlier.about_at) AS at FROM alert_deliveries AS earlier
  WHERE earlier.incident_id = delivery.incident_id AND earlier.channel = delivery.channel
    AND earlier.about_at < delivery.about_at`;

/** Whether the message is only about repositories that joined: a reminder that comes early, or after an acknowledgement. */
const isAboutJoining = `coalesce(delivery.kind = 'reminder'
  AND (incident.acknowledged_at <= delivery.about_at OR previous.at > delivery.about_at - interval '1 day'), false)`;

/** The repositories that the message is about. */
const concerned = `SELECT count(*) AS total, count(*) FILTER (WHERE lower(repository_name) IN (SELECT name FROM muted)) AS muted
  FROM incident_repositories AS member WHERE member.incident_id = incident.id
    AND (member.resolved_at IS NULL OR member.resolved_at = incident.resolved_at)
    AND (NOT is_about_joining OR member.joined_at > previous.at AND member.joined_at <= delivery.about_at)`;

/** Whether the channel has been told of the incident. */
const isTold = `EXISTS (SELECT FROM alert_deliveries AS told WHERE told.incident_id = delivery.incident_id
  AND told.channel = delivery.channel AND (told.delivered_at IS NOT NULL OR told.unclear > 0))`;

/** What holds an earlier message about the incident, which this one then joins. */
const heldBefore = `SELECT before.held_by FROM alert_deliveries AS before
  WHERE before.incident_id = delivery.incident_id AND before.channel = delivery.channel AND before.id < delivery.id
    AND ${isOpen('before')} AND before.held_by <> 'undecided' ORDER BY before.id LIMIT 1`;

// Locks what it changes in the order of the ids: of two processes, the second waits, and then finds nothing left to
// change. So what was held is in one summary.
const decide: Statement = {
  name: 'hold_alerts',
  text: `WITH quiet AS MATERIALIZED (${quietAt(NOW)}), muted AS MATERIALIZED (
      SELECT lower(repository_name) AS name FROM mutes WHERE scope = 'repository' AND ${isMuting('mutes', NOW)}
    ), changed AS MATERIALIZED (
      SELECT delivery.id, delivery.channel, decision.holder,
        coalesce(nullif(delivery.held_by, 'undecided'), before.held_by) AS held_by
      FROM alert_deliveries AS delivery
      JOIN incidents AS incident ON incident.id = delivery.incident_id
      CROSS JOIN LATERAL (${previous}) AS previous
      CROSS JOIN LATERAL (SELECT ${isAboutJoining} AS is_about_joining) AS message
      CROSS JOIN LATERAL (${concerned}) AS concerned
      CROSS JOIN LATERAL (
        SELECT CASE WHEN is_about_joining THEN delivery.about_at ELSE incident.opened_at END AS at
      ) AS began
      LEFT JOIN LATERAL (${maintenanceAt('began.at')}) AS maintenance ON is_about_joining OR NOT ${isTold}
      LEFT JOIN LATERAL (${heldBefore}) AS before ON true
      CROSS JOIN LATERAL (
        SELECT CASE
          WHEN CASE WHEN is_about_joining THEN maintenance.ends_at IS NOT NULL AND concerned.total = 0
            ELSE incident.resolved_at <= maintenance.ends_at END THEN 'nobody'
          WHEN concerned.total > 0 AND concerned.total = concerned.muted OR EXISTS (
            SELECT FROM mutes AS mute WHERE ${isMuting('mute', NOW)}
              AND (mute.scope = 'all' OR mute.incident_id = incident.id)
          ) THEN 'mute'
          WHEN ${NOW} < maintenance.ends_at THEN 'maintenance'
          WHEN EXISTS (
            SELECT FROM quiet WHERE NOT (quiet.critical_passes AND ${ofRule('severity')} = 'critical')
          ) THEN 'quiet_hours'
        END AS holder
      ) AS decision
      WHERE ${isOpen('delivery')} AND delivery.claimed_until <= ${NOW}
        AND decision.holder IS DISTINCT FROM delivery.held_by
      ORDER BY delivery.id FOR UPDATE OF delivery
    ), summary AS (
      INSERT INTO alert_notices (kind, about_at, channel, held_by, created_at)
      SELECT 'summary', ${NOW}, channel, CASE WHEN min(held_by) = max(held_by) THEN min(held_by) ELSE 'several' END, ${NOW}
      FROM changed WHERE holder IS NULL AND held_by IS NOT NULL GROUP BY channel
      ON CONFLICT DO NOTHING RETURNING id, channel
    ), decided AS (
      SELECT changed.*, summary.id AS notice_id
      FROM changed LEFT JOIN summary ON summary.channel = changed.channel AND holder IS NULL AND held_by IS NOT NULL
    )
    UPDATE alert_deliveries AS delivery SET notice_id = decided.notice_id,
      given_up_at = CASE WHEN decided.holder = 'nobody' THEN ${NOW} END,
      held_by = CASE WHEN decided.holder = 'nobody' THEN 'maintenance' ELSE coalesce(decided.holder, decided.held_by) END
    FROM decided WHERE delivery.id = decided.id`,
};

/**
 * Decides for each message that waits whether quiet hours, a mute or a maintenance window hold it. What none of them
 * holds any longer is put into one summary for each channel; what began and ended in a maintenance window is closed.
 * Messages that other processes are sending stay as they are. `now` is in milliseconds since the epoch.
 */
export async function holdMessages(db: Database, now: number): Promise<void> {
  await db.query(decide, [new Date(now).toISOString()]);
}
