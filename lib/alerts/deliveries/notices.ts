import type { Database, Statement } from '../../database/database.ts';
import { cutTextSql } from '../../security/redaction/cut-text.ts';
import { ofRule } from '../incidents/list.ts';
import { MAX_NAMED } from '../incidents/message.ts';
import {
  MAX_SUMMARIZED,
  type SummarizedIncident,
  type SummaryFacts,
} from '../incidents/summary.ts';
import {
  type Claim,
  giveUpSql,
  isDue,
  isOpen,
  isoMs,
  LEASE,
  type Sent,
  settleSql,
  settling,
} from './claims.ts';

// The outcome of a summary is that of the messages in it.
const passOn = (update: string) => `WITH notice AS (${update} RETURNING *)
  UPDATE alert_deliveries AS delivery SET attempts = notice.attempts, delivered_at = notice.delivered_at,
    given_up_at = notice.given_up_at, last_error = notice.last_error
  FROM notice WHERE delivery.notice_id = notice.id`;

const giveUp: Statement = { name: 'give_up_notices', text: passOn(giveUpSql('alert_notices')) };
const settle: Statement = { name: 'settle_notice', text: passOn(settleSql('alert_notices')) };

/** Gives up notices as `giveUpMessages` gives up messages. */
export async function giveUpNotices(db: Database, now: number): Promise<void> {
  await db.query(giveUp, [new Date(now).toISOString()]);
}

const claim: Statement = {
  name: 'claim_notice',
  text: `UPDATE alert_notices SET attempts = attempts + 1, unclear = unclear + 1,
      claimed_until = $1::timestamptz + ${LEASE}, claimed_by = $3
    WHERE id = (SELECT id FROM alert_notices WHERE channel = $2 AND ${isOpen} ORDER BY id LIMIT 1) AND ${isDue}
    RETURNING id::text, kind, attempts, held_by AS "heldBy", ${isoMs('about_at')} AS at`,
};

/** A notice that this process may send now. */
export interface ClaimedNotice extends Pick<SummaryFacts, 'heldBy' | 'at'> {
  id: string;
  kind: 'summary' | 'digest';
  /** From 1. */
  attempts: number;
}

/** Claims the oldest notice of a channel; null if there is none, or if it is not due or claimed by another process. */
export async function claimNotice(
  db: Database,
  { channel, by, now }: Claim,
): Promise<ClaimedNotice | null> {
  const values = [new Date(now).toISOString(), channel, by];
  const [row] = await db.query<ClaimedNotice>(claim, values);
  return row ?? null;
}

/** Records the outcome of sending a claimed notice, also for the messages that it tells of. */
export async function settleNotice(
  db: Database,
  { id }: ClaimedNotice,
  sent: Sent,
  claimed: Pick<Claim, 'by' | 'now'>,
): Promise<void> {
  await db.query(settle, settling(id, sent, claimed));
}

const read: Statement = {
  name: 'read_summary',
  text: `WITH incident AS MATERIALIZED (
      SELECT *, resolved_at IS NOT NULL AS is_over, coalesce(${ofRule('severity')}, 'warning') AS severity
      FROM incidents AS incident
      WHERE id IN (SELECT incident_id FROM alert_deliveries WHERE notice_id = $1::bigint)
    )
    SELECT incident.id::text AS "incidentId", rule, ${cutTextSql('summary', 1_000)} AS summary,
      ${isoMs('opened_at')} AS "openedAt", ${isoMs('incident.resolved_at')} AS "resolvedAt", members.count AS "repositoryCount",
      members.named::text AS repositories, (SELECT count(*)::int FROM incident) AS total,
      (SELECT count(*)::int FROM incident WHERE NOT is_over) AS open,
      EXISTS (SELECT FROM incident WHERE NOT is_over AND severity = 'critical') AS "isCritical"
    FROM incident CROSS JOIN LATERAL (
      SELECT count(*)::int AS count, coalesce(json_agg(json_build_object('name', repository_name, 'reason', reason)
        ORDER BY position) FILTER (WHERE position <= ${MAX_NAMED}), '[]') AS named
      FROM (
        SELECT repository_name, ${cutTextSql('reason', 300)} AS reason,
          row_number() OVER (ORDER BY concerned.severity DESC, repository_name) AS position
        FROM incident_repositories AS concerned WHERE concerned.incident_id = incident.id
          AND (concerned.resolved_at IS NULL OR concerned.resolved_at = incident.resolved_at)
      ) AS member
    ) AS members
    ORDER BY is_over, severity <> 'critical', opened_at, incident.id LIMIT ${MAX_SUMMARIZED}`,
};

type SummaryRow = Omit<SummarizedIncident, 'repositories'> &
  Pick<SummaryFacts, 'total' | 'open' | 'isCritical'> & { repositories: string };

/** Reads what a summary tells: the incidents of the messages that were held, as they are now. */
export async function readSummary(
  db: Database,
  { id, heldBy, at }: ClaimedNotice,
): Promise<SummaryFacts> {
  const rows = await db.query<SummaryRow>(read, [id]);
  const [{ total, open, isCritical } = { total: 0, open: 0, isCritical: false }] = rows;
  const incidents = rows.map(({ incidentId, rule, summary, openedAt, resolvedAt, ...row }) => ({
    ...{ incidentId, rule, summary, openedAt, resolvedAt, repositoryCount: row.repositoryCount },
    repositories: JSON.parse(row.repositories) as SummarizedIncident['repositories'],
  }));
  return { id, heldBy, at, total, open, isCritical, incidents };
}
