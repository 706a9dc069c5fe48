import { hashToken } from '../../../lib/backups/badges/public-badge.ts';
import { say } from '../../support/chat.ts';
import { connect } from '../../support/connection.ts';
import { startGateway } from '../../support/gateway.ts';
import { startMailService } from '../../support/mail.ts';
import { createMcpWorld } from '../../support/mcp-world.ts';
import { nodeFlags } from '../../support/node-flags.ts';
import { ADA, observatoryEnvironment } from '../../support/observatory-client.ts';
import { isLong } from '../size.ts';
import { startServerProcess } from '../support/server-process.ts';
import { CRON_SECRET } from './credentials.ts';

/** The number of runs; their ids start at 1. */
export const RUNS = 40;
export const ANOMALIES = 12;
/** The address of a badge. */
export const BADGE_TOKEN = 'b'.repeat(32);
/** The number of incidents. */
export const INCIDENTS = 6;

/** `embedded` is the database of `npm start`, which supports vectors; `postgres` is a separate one. */
export type FuzzDatabase = 'embedded' | 'postgres';

/**
 * Starts everything that the server works with, so that requests can succeed: a database with data, an archive, a model
 * gateway and a mail service.
 */
export async function startFuzzWorld(database: FuzzDatabase) {
  const world = await createMcpWorld();
  const gateway = await startGateway();
  const mail = await startMailService();
  const { DATABASE_URL, ...environment } = world.environment;
  let asked = 0;
  gateway.routes.set('/chat/completions', ({ body }, response) => {
    const messages = (body?.messages ?? []) as { role: string; content: unknown }[];
    const hasAnswers = messages.at(-1)?.role === 'tool';
    const question = messages.findLast(({ role }) => role === 'user')?.content;
    asked += 1;
    void say(
      hasAnswers ? { text: ['That ', 'is all.'] } : firstStep(String(question), asked),
      response,
    );
  });
  const variables = {
    ...observatoryEnvironment,
    ...environment,
    ...(database === 'postgres' ? { DATABASE_URL } : {}),
    ...mail.environment,
    GATEWAY_BASE_URL: gateway.url,
    GATEWAY_API_KEYS: 'server-key-number-1',
    GATEWAY_MODEL: 'acme/chat-paid',
    CRON_SECRET,
    TRUSTED_PROXIES: '127.0.0.1',
    MCP_MAX_CALLS_PER_MINUTE: '1000000',
    USER_MAX_REQUESTS_PER_MINUTE: '1000000',
    LOGIN_MAX_FAILURES: '1000',
    EMBEDDING_BATCH_TIME_BUDGET_SECONDS: '0.1',
  } as Record<string, string>;
  // A long run tries what people run.
  const server = await startServerProcess(variables, isLong ? [] : nodeFlags);
  const url = database === 'postgres' ? DATABASE_URL : server.databaseUrl;
  await fill(url);
  return {
    server,
    /** Discards the requests that the stand-ins recorded, and removes what requests have created. */
    async forget() {
      await empty(url);
      gateway.requests.length = 0;
      mail.requests.length = 0;
      mail.delivered.length = 0;
      world.received.length = 0;
    },
    async close() {
      const code = await server.stop();
      await Promise.all([gateway.close(), mail.close(), world.close()]);
      return code;
    },
  };
}

/** A question that makes the model mail a report, which a person has to approve. */
export const REPORT_QUESTION = 'Please mail me a report.';

function firstStep(question: string, asked: number) {
  // The question is followed by records that a search found, among them earlier ones of this question.
  if (question.startsWith(REPORT_QUESTION)) {
    const args = { subject: 'Report', recipients: ['ops@example.com'], content_markdown: '# All' };
    return { calls: [{ id: `call_${asked}`, name: 'send_report_email', args }] };
  }
  if (asked % 3 > 0) return { text: ['An answer to: ', question.slice(0, 100)] };
  const calls = [
    { name: 'get_execution_logs', args: { repository: question.slice(0, 200), limit: 3 } },
    { id: '', name: question.slice(0, 60), args: question.slice(0, 60) },
    { id: `call_${asked}`, name: 'diagnose_backup_failure', args: {} },
  ];
  return { text: ['I look. '], calls: [calls[Math.floor(asked / 3) % 3] ?? { name: 'none' }] };
}

/** Adds data of every kind. The content is ordinary, because the requests are under test. */
async function fill(url: string): Promise<void> {
  const statements = [
    `INSERT INTO backup_runs (status, started_at, completed_at, total_repos, successful, failed, duration_ms)
     SELECT (ARRAY['completed', 'failed', 'completed'])[1 + i % 3], now() - i * interval '1 hour',
       now() - i * interval '1 hour' + interval '5 minutes', 5, 4, 1, 300000
     FROM generate_series(1, ${RUNS}) AS i`,
    `INSERT INTO backup_results (run_id, repo_full_name, status, commit_hash, archive_size_bytes, duration_ms)
     SELECT 1 + i % ${RUNS}, 'acme/repository-' || i % 12,
       (ARRAY['completed', 'failed', 'empty', 'too_large'])[1 + i % 4], md5(i::text), i * 1000, 10
     FROM generate_series(1, 80) AS i`,
    `INSERT INTO archive_versions (repo_full_name, version, run_id, pruned_at)
     SELECT 'acme/repository-' || i / 5, 1 + i % 5, 1 + i % ${RUNS}, CASE WHEN i % 5 = 0 THEN now() END
     FROM generate_series(5, 24) AS i`,
    `INSERT INTO archive_refs (repo_full_name, name, object_id, from_version)
     SELECT 'acme/repository-' || i % 5, 'refs/heads/branch-' || i, md5(i::text), 1 + i % 5
     FROM generate_series(1, 60) AS i`,
    // Its id is not one that requests revoke.
    `INSERT INTO badges (id, token_sha256) VALUES (1000000, '${hashToken(BADGE_TOKEN)}')`,
    `INSERT INTO anomalies (repo_full_name, run_id, version, kind)
     SELECT 'acme/repository-' || i, i, 1, 'shrunk' FROM generate_series(1, ${ANOMALIES}) AS i`,
    // The sweep resolves the open ones at a moment of its own; those acknowledged before can still be acknowledged.
    `INSERT INTO incidents (rule, subject, acknowledged_at, acknowledged_by, resolved_at)
     SELECT (ARRAY['run_failed', 'repository_failing'])[1 + i % 2], i::text,
       CASE WHEN i > 3 THEN now() END, CASE WHEN i > 3 THEN 'ada' END, CASE WHEN i > 3 THEN now() END
     FROM generate_series(1, ${INCIDENTS}) AS i`,
    `INSERT INTO incident_repositories (incident_id, repository_name, reason)
     SELECT i, 'acme/repository-1', 'it broke' FROM generate_series(1, ${INCIDENTS}) AS i`,
    `INSERT INTO alert_deliveries (incident_id, kind, about_at, channel)
     SELECT i, 'opened', now(), 'phone' FROM generate_series(1, ${INCIDENTS}) AS i`,
    `INSERT INTO execution_logs (run_id, level, message, repository)
     SELECT 1 + i % ${RUNS}, (ARRAY['info', 'warn', 'error', 'debug'])[1 + i % 4],
       'clone of repository ' || i || ' failed: timeout', 'acme/repository-' || i % 12
     FROM generate_series(1, 150) AS i`,
    `INSERT INTO analytics_snapshots (run_id) SELECT generate_series(1, ${RUNS})`,
    `INSERT INTO users (username, password_hash, created_at)
     VALUES ('bob', 'scrypt$32768$8$1$${'A'.repeat(22)}==$${'A'.repeat(43)}=', now() - interval '1 day')`,
  ];
  const client = await connect(url);
  for (const statement of statements) await client.query(statement);
  await client.end();
}

/**
 * Removes all but the first report, which the requests name, and opens the incidents again. The embedded database is
 * vacuumed once an hour.
 */
async function empty(url: string): Promise<void> {
  const client = await connect(url);
  await client.query('DELETE FROM chat_messages');
  await client.query(
    'DELETE FROM reports WHERE created_at > (SELECT min(created_at) FROM reports)',
  );
  await client.query('DELETE FROM backup_fixes');
  await client.query('DELETE FROM backup_run_requests');
  await client.query(
    `UPDATE incidents SET resolved_at = NULL, acknowledged_at = NULL, acknowledged_by = NULL
     WHERE id <= ${INCIDENTS / 2}`,
  );
  if (isLong) await client.query('VACUUM (FULL, ANALYZE)');
  await client.end();
}

/** The user that logins name. */
export const USER = ADA;
