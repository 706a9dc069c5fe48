import { openMailboxes } from '../../lib/alerts/channels/mailboxes.ts';
import { openAlertChannels } from '../../lib/alerts/channels/open-channels.ts';
import { type AlertDeps, raiseAlerts } from '../../lib/alerts/raise-alerts.ts';
import { alertSendingVariables } from '../../lib/config/alert-channels.ts';
import { alertRuleVariables } from '../../lib/config/alert-rules.ts';
import { freshnessVariables } from '../../lib/config/freshness.ts';
import { type Environment, readConfig } from '../../lib/config/read.ts';
import type { Database } from '../../lib/database/database.ts';
import { createTestClock, type TestClock } from './clock.ts';
import { createTestDeps } from './deps.ts';
import { sql } from './records.ts';
import {
  type ScriptedAnswer,
  type ScriptedServer,
  startScriptedServer,
} from './scripted-server.ts';

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** A service that receives messages. */
export interface AlertReceiver extends ScriptedServer {
  /** Its next answers, in order; then 200. */
  answers: ScriptedAnswer[];
  /** The titles of all received messages, including refused ones. */
  titles(): string[];
  /** An entry of ALERT_CHANNELS that leads here. */
  address(name?: string): string;
}

/** Starts a receiver. */
export async function startAlertReceiver(): Promise<AlertReceiver> {
  const answers: ScriptedAnswer[] = [];
  const server = await startScriptedServer(() => answers.shift() ?? {});
  return {
    ...server,
    answers,
    titles: () => server.received.map(({ body }) => (JSON.parse(body) as { title: string }).title),
    address: (name = 'phone') => `${name}=ntfy+${server.url}/alerts-of-tests`,
  };
}

/** The dependencies for raising alerts, with a clock that stands still. */
export async function alertDeps(
  db: Database,
  channels: readonly string[] = [],
  {
    clock = createTestClock(),
    environment = {},
  }: { clock?: TestClock; environment?: Environment } = {},
): Promise<AlertDeps & { clock: TestClock; logged: { message: string }[] }> {
  const { log, logged } = createTestDeps({ db, clock });
  const variables = { ...environment, ALERT_CHANNELS: channels.join(' ') };
  const sending = readConfig(alertSendingVariables, variables);
  const config = {
    ...sending,
    ...readConfig(alertRuleVariables, variables),
    ...readConfig(freshnessVariables, variables),
  };
  const opened = await openAlertChannels(sending, { db: null, fetch, clock });
  const mailboxes = openMailboxes(sending, { fetch, clock });
  return { db, clock, log, logged, config, channels: opened, mailboxes };
}

/** Raises alerts some time later. */
export async function raiseAfter(
  deps: AlertDeps & { clock: TestClock },
  ms: number,
): Promise<Awaited<ReturnType<typeof raiseAlerts>>> {
  deps.clock.advance(ms);
  return raiseAlerts(deps);
}

/** A stored incident. */
export interface StoredIncident {
  id: number;
  rule: string;
  subject: string;
  summary: string;
  is_open: boolean;
  repositories: string[];
}

/** All incidents, each with the repositories that it concerns now. */
export function listStored(db: Database): Promise<StoredIncident[]> {
  return sql<StoredIncident>(
    db,
    `SELECT id::int AS id, rule, subject, summary, resolved_at IS NULL AS is_open, (
       SELECT coalesce(array_agg(repository_name ORDER BY repository_name), '{}') FROM incident_repositories
       WHERE incident_id = incident.id AND incident_repositories.resolved_at IS NULL
     ) AS repositories FROM incidents AS incident ORDER BY id`,
  );
}

/** An ISO time that lies `ms` before the time of the test clock. */
export const ago = (clock: TestClock, ms: number): string =>
  new Date(clock.now() - ms).toISOString();
