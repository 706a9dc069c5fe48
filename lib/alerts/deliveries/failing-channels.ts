import type { Database, Statement } from '../../database/database.ts';
import { iso } from '../../records/base/page.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';

/** How many of the newest messages are read: all of a busy day. */
const MAX_READ = 1_000;

// Messages of a channel are sent in the order of their ids, but one that may have arrived is tried again later.
const failing: Statement = {
  name: 'failing_alert_channels',
  text: `WITH newest AS MATERIALIZED (
      SELECT * FROM alert_deliveries AS delivery ORDER BY delivery.id DESC LIMIT ${MAX_READ}
    ), arrived AS (
      SELECT channel, max(id) AS id, max(delivered_at) AS at FROM newest WHERE delivered_at IS NOT NULL GROUP BY channel
    )
    SELECT DISTINCT ON (channel) channel, incident_id::text AS incident, ${iso('created_at')} AS created_at,
      given_up_at IS NOT NULL AS is_given_up, ${cutTextSql('last_error', 300)} AS reason
    FROM newest LEFT JOIN arrived USING (channel)
    WHERE channel = ANY ($1::text[]) AND delivered_at IS NULL AND last_error IS NOT NULL
      AND newest.id > coalesce(arrived.id, 0) AND coalesce(given_up_at > arrived.at, true)
    ORDER BY channel, newest.id DESC`,
};

/** The last message of a channel, which did not arrive. */
export interface FailingChannel {
  channel: string;
  /** The incident that it is about. */
  incident: string;
  created_at: string;
  is_given_up: boolean;
  reason: string;
}

/** The channels among these whose last message did not arrive, by name. */
export function listFailingChannels(
  db: Database,
  channels: readonly string[],
): Promise<FailingChannel[]> {
  return db.query<FailingChannel>(failing, [channels]);
}
