import type { Database, SqlValue, Statement } from '../../database/database.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { MAX_NAMED, type MessageFacts } from '../incidents/message.ts';

/** Maximum number of attempts of one message that may have reached a channel. */
const MAX_UNCLEAR = 2;
/** How many messages of a channel may wait because they may have arrived. If there are more, the service is down. */
const MAX_WAITING = 1;
/** Maximum number of attempts of one message, each refused or made while the service was unreachable. */
const MAX_ATTEMPTS = 50;
/** Longer than sending a message takes: a process that still holds its claim then was killed. */
export const LEASE = "interval '2 minutes'";

/** SQL for whether a message, or a notice, is still to be sent. */
export const isOpen = 'delivered_at IS NULL AND given_up_at IS NULL';

/** SQL for whether one that is claimed below is really free, which another process may have changed meanwhile. */
export const isDue = `${isOpen} AND claimed_until <= $1::timestamptz AND next_attempt_at <= $1::timestamptz
  AND unclear < ${MAX_UNCLEAR}`;

/** SQL that gives up what may have arrived twice, and what could not be delivered within a day. */
export const giveUpSql = (
  table: string,
) => `UPDATE ${table} SET given_up_at = $1::timestamptz, claimed_until = '-infinity',
      last_error = CASE
        WHEN unclear >= ${MAX_UNCLEAR} THEN concat_ws(': ', 'it may have arrived twice, and is not sent again', last_error)
        WHEN attempts = 0 THEN 'no process that knows this channel sent it within a day'
        ELSE concat_ws(': ', 'given up', last_error) END
    WHERE ${isOpen} AND claimed_until <= $1::timestamptz
      AND (unclear >= ${MAX_UNCLEAR} OR attempts >= ${MAX_ATTEMPTS} OR created_at <= $1::timestamptz - interval '1 day')`;

// What is held has no limit: it waits for its summary, which has one.
const giveUp: Statement = {
  name: 'give_up_alerts',
  text: `${giveUpSql('alert_deliveries')} AND held_by IS NULL`,
};

/** Gives up messages that may have arrived twice, and those that could not be delivered within a day. */
export async function giveUpMessages(db: Database, now: number): Promise<void> {
  await db.query(giveUp, [new Date(now).toISOString()]);
}

// A message that may have arrived waits for its only retry, and so do others about the same incident. If it held back
// all messages, a service that hangs on one would silence the channel meanwhile.
const waiting = `SELECT incident_id FROM alert_deliveries
  WHERE channel = $2 AND ${isOpen} AND held_by IS NULL AND unclear > 0 AND claimed_until <= $1::timestamptz AND next_attempt_at > $1::timestamptz
  LIMIT ${MAX_WAITING + 1}`;

// Counts the attempt as possibly delivered before it is made, because a process that is killed while sending cannot
// record it.
const claim: Statement = {
  name: 'claim_alert',
  text: `WITH waiting AS MATERIALIZED (${waiting}), claimed AS (
      UPDATE alert_deliveries AS delivery SET attempts = attempts + 1, unclear = unclear + 1,
        claimed_until = $1::timestamptz + ${LEASE}, claimed_by = $3
      WHERE id = (
        SELECT id FROM alert_deliveries AS first WHERE channel = $2 AND ${isOpen} AND held_by IS NULL AND (
          (SELECT count(*) FROM waiting) > ${MAX_WAITING}
          OR first.incident_id NOT IN (SELECT incident_id FROM waiting)
        )
        ORDER BY first.id LIMIT 1
      ) AND ${isDue} AND held_by IS NULL
        AND NOT EXISTS (SELECT FROM alert_notices WHERE channel = $2 AND ${isOpen} AND unclear = 0)
      RETURNING id, incident_id, kind, about_at, attempts
    )
    SELECT claimed.id::text, claimed.incident_id::text AS "incidentId", claimed.kind, claimed.attempts,
      ${isoMs('claimed.about_at')} AS at,
      ${isoMs('incident.opened_at')} AS "openedAt",
      incident.rule, ${cutTextSql('incident.summary', 1_000)} AS summary,
      (SELECT count(*) FROM incident_repositories AS concerned
       WHERE concerned.incident_id = incident.id AND (concerned.resolved_at IS NULL OR claimed.kind = 'resolved')
      )::int AS "repositoryCount",
      (SELECT count(*) FROM incident_repositories AS concerned
       WHERE concerned.incident_id = incident.id AND concerned.resolved_at IS NULL AND concerned.joined_at > (
         SELECT max(about_at) FROM alert_deliveries AS earlier
         WHERE earlier.incident_id = incident.id AND earlier.channel = $2 AND earlier.about_at < claimed.about_at
       ))::int AS "newCount",
      (SELECT coalesce(json_agg(named), '[]')::text FROM (
        SELECT repository_name AS name, ${cutTextSql('reason', 300)} AS reason
        FROM incident_repositories AS concerned
        WHERE concerned.incident_id = incident.id AND (concerned.resolved_at IS NULL OR claimed.kind = 'resolved')
        ORDER BY concerned.severity DESC, concerned.repository_name LIMIT ${MAX_NAMED}
      ) AS named) AS repositories
    FROM claimed JOIN incidents AS incident ON incident.id = claimed.incident_id`,
};

/** A message that this process may send now. */
export interface ClaimedMessage extends MessageFacts {
  id: string;
  /** From 1. */
  attempts: number;
}

/** Which process sends through which channel, and when. */
export interface Claim {
  channel: string;
  /** Unique to this process and round. */
  by: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/**
 * Claims the oldest message of a channel; null if there is none, or if it is not due or claimed by another process. The
 * messages of a channel arrive in order, so one that cannot be sent holds back the rest. One that may have arrived
 * holds back only those about its incident, unless several may have arrived.
 */
export async function claimMessage(
  db: Database,
  { channel, by, now }: Claim,
): Promise<ClaimedMessage | null> {
  const values = [new Date(now).toISOString(), channel, by];
  const [row] = await db.query<Omit<ClaimedMessage, 'repositories'> & { repositories: string }>(
    claim,
    values,
  );
  return row === undefined ? null : { ...row, repositories: JSON.parse(row.repositories) };
}

/** SQL for a time as ISO 8601 in UTC with milliseconds. */
export function isoMs(column: string): string {
  return `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** The outcome of sending. */
export type Sent =
  | { outcome: 'delivered' }
  /** `retryInMs` is null if there is no retry. */
  | { outcome: 'failed'; reason: string; mayHaveArrived: boolean; retryInMs: number | null };

// A process that is too late, because another has claimed the message, only corrects the record of its own attempt.
/** SQL that records the outcome of sending one, with the values of `settling`. */
export const settleSql = (table: string) => `UPDATE ${table} SET
      delivered_at = CASE WHEN $4::boolean THEN coalesce(delivered_at, $1::timestamptz) ELSE delivered_at END,
      unclear = CASE WHEN $6::boolean THEN unclear ELSE greatest(0, unclear - 1) END,
      last_error = CASE WHEN $4::boolean THEN NULL WHEN delivered_at IS NULL THEN $5 ELSE last_error END,
      given_up_at = CASE
        WHEN $4::boolean THEN NULL
        WHEN claimed_by = $3 AND $7::bigint IS NULL THEN $1::timestamptz
        ELSE given_up_at END,
      next_attempt_at = CASE
        WHEN claimed_by = $3 THEN $1::timestamptz + coalesce($7::bigint, 0) * interval '1 ms'
        ELSE next_attempt_at END,
      claimed_until = CASE WHEN claimed_by = $3 THEN '-infinity' ELSE claimed_until END,
      claimed_by = nullif(claimed_by, $3)
    WHERE id = $2::bigint`;

/** The values of `settleSql`. */
export function settling(
  id: string,
  sent: Sent,
  { by, now }: Pick<Claim, 'by' | 'now'>,
): SqlValue[] {
  const failed = sent.outcome === 'failed' ? sent : null;
  return [
    ...[new Date(now).toISOString(), id, by],
    ...[failed === null, failed?.reason ?? null, failed?.mayHaveArrived ?? true],
    failed?.retryInMs ?? null,
  ];
}

const settle: Statement = { name: 'settle_alert', text: settleSql('alert_deliveries') };

/** Records the outcome of sending a claimed message. */
export async function settleMessage(
  db: Database,
  { id }: ClaimedMessage,
  sent: Sent,
  claimed: Pick<Claim, 'by' | 'now'>,
): Promise<void> {
  await db.query(settle, settling(id, sent, claimed));
}

const countOpen: Statement = {
  name: 'count_open_alerts',
  text: `SELECT count(*)::int AS open FROM (
      SELECT FROM alert_deliveries WHERE channel = ANY ($1::text[]) AND ${isOpen} AND held_by IS NULL
      UNION ALL SELECT FROM alert_notices WHERE channel = ANY ($1::text[]) AND ${isOpen} LIMIT 1000
    ) AS waiting`,
};

/** How many messages wait to be sent to these channels, counted up to 1,000, without those that are held. */
export async function countWaiting(db: Database, channels: readonly string[]): Promise<number> {
  const [row] = await db.query<{ open: number }>(countOpen, [channels]);
  return row?.open ?? 0;
}
