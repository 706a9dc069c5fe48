import type { Database } from '../../database/database.ts';
import { iso } from '../base/page.ts';

/** Maximum number of channels that can be added in the dashboard. */
export const MAX_STORED_CHANNELS = 20;

/** A channel that was added in the dashboard. Times are ISO 8601 in UTC. */
export interface AlertChannelRow {
  id: string;
  name: string;
  kind: string;
  sealed_address: string;
  place: string;
  created_by: string;
  created_at: string;
}

const selectChannels = {
  name: 'list_alert_channels',
  text: `SELECT id::text, name, kind, sealed_address, place, created_by, ${iso('created_at')} AS created_at
         FROM alert_channels ORDER BY lower(name) LIMIT $1`,
};
const insertChannel = {
  name: 'add_alert_channel',
  text: `WITH added AS (
           INSERT INTO alert_channels (id, name, kind, sealed_address, place, created_by)
           SELECT $1::uuid, $2, $3, $4, $5, $6 WHERE (SELECT count(*) FROM alert_channels) < $7
           ON CONFLICT (lower(name)) DO NOTHING RETURNING 1
         )
         SELECT CASE WHEN EXISTS (SELECT FROM added) THEN 'added'
           WHEN EXISTS (SELECT FROM alert_channels WHERE lower(name) = lower($2)) THEN 'taken'
           ELSE 'full' END AS outcome`,
};
const deleteChannel = {
  name: 'remove_alert_channel',
  text: 'DELETE FROM alert_channels WHERE id = $1::uuid RETURNING 1',
};
const updateSealedAddress = {
  name: 'replace_sealed_alert_channel',
  text: 'UPDATE alert_channels SET sealed_address = $3 WHERE id = $1::uuid AND sealed_address = $2',
};

/** The channels that were added in the dashboard, by name. */
export function listAlertChannels(db: Database): Promise<AlertChannelRow[]> {
  return db.query<AlertChannelRow>(selectChannels, [MAX_STORED_CHANNELS]);
}

/** Stores a channel, unless its name is taken in any letter case or there are too many. */
export async function addAlertChannel(
  db: Database,
  channel: Omit<AlertChannelRow, 'created_at'>,
): Promise<'added' | 'taken' | 'full'> {
  const { id, name, kind, sealed_address, place, created_by } = channel;
  const values = [id, name, kind, sealed_address, place, created_by, MAX_STORED_CHANNELS];
  type Row = { outcome: 'added' | 'taken' | 'full' };
  const [row] = await db.query<Row>(insertChannel, values);
  if (!row) throw new Error('adding the channel returned no row');
  return row.outcome;
}

/** Deletes a channel. False if it no longer exists. */
export async function removeAlertChannel(db: Database, id: string): Promise<boolean> {
  const removed = await db.query(deleteChannel, [id]);
  return removed.length > 0;
}

/** Replaces a sealed address after it was sealed with a new key. */
export async function replaceSealedAddress(
  db: Database,
  id: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  await db.query(updateSealedAddress, [id, from, to]);
}
