import type { Database } from '../../lib/database/database.ts';
import { createGatewayCredentials } from '../../lib/gateway/credentials.ts';
import { activateGeneration } from '../../lib/search/generations.ts';
import { hashPassword } from '../../lib/security/password.ts';
import { addUser } from '../../lib/users/users.ts';
import { createClient } from './client.ts';
import { createTestDeps } from './deps.ts';
import { createBatches, startBuiltIn } from './embeddings.ts';
import { ADA, createObservatoryClient, observatoryEnvironment } from './observatory-client.ts';
import { QUICK_COST } from './passwords.ts';
import { sql } from './records.ts';

/** The user in the table `users` of a filled database. */
export const GRACE = { username: 'grace', password: 'the password of grace' };
export const ADAS_GATEWAY_KEY = 'sk-or-v1-a-key-of-tests-0123456789';

/**
 * Fills every table with values that a copy may spoil: whole numbers that JavaScript cannot represent, microseconds,
 * infinity, quotes, other scripts, NULL, gaps in ids, and ids of rows that no longer exist.
 */
export async function fillDatabase(db: Database): Promise<void> {
  await sql(
    db,
    `INSERT INTO backup_runs (id, status, started_at, completed_at, total_repos, failed, duration_ms,
       error_message, heartbeat_at)
     SELECT n * 3, (ARRAY['completed', 'failed'])[1 + n % 2], '2026-05-01T10:00:00.123456Z'::timestamptz
       + n * interval '1 hour', '2026-05-01T10:30:00Z'::timestamptz + n * interval '1 hour', 4, n % 2,
       1000000007 * n::bigint, CASE WHEN n % 5 > 0 THEN E'it''s "broken"\n\\path 日本 🙂' END, 'infinity'
     FROM generate_series(1, 30) AS n`,
  );
  await sql(db, "SELECT setval('backup_runs_id_seq', 500)");
  await sql(
    db,
    `INSERT INTO backup_results (run_id, repo_full_name, status, commit_hash, archive_size_bytes,
       error_message, created_at)
     SELECT 3 * (1 + n % 30), 'Org/répo-' || n % 9, (ARRAY['completed', 'failed'])[1 + n % 2], md5(n::text),
       nullif(n % 4, 0) * 1000000007::bigint, nullif(n % 3, 0)::text,
       '2026-05-01T10:00:00.000001+05:45'::timestamptz + n * interval '7 minutes'
     FROM generate_series(1, 200) AS n`,
  );
  await sql(
    db,
    `INSERT INTO execution_logs (run_id, level, message, repository, created_at)
     SELECT nullif(3 * (n % 31), 0), (ARRAY['info', 'INFO', 'warn', 'error'])[1 + n % 4],
       'cloning number ' || n, CASE WHEN n % 2 = 0 THEN 'Org/répo-' || n % 9 END,
       '2026-05-01T23:00:00Z'::timestamptz + n * interval '1 minute'
     FROM generate_series(1, 300) AS n`,
  );
  await sql(db, 'DELETE FROM execution_logs WHERE id > 290');
  await sql(
    db,
    `INSERT INTO analytics_snapshots (run_id, head_commit, total_blob_size_bytes, captured_at)
     SELECT 3 * n, md5(n::text), CASE n WHEN 1 THEN 9223372036854775807 ELSE n END, '2026-05-02'::timestamptz + n * interval '1 hour'
     FROM generate_series(1, 5) AS n`,
  );
  await sql(
    db,
    "INSERT INTO backup_fixes (title, author) VALUES ('More disk', 'ada'), ('Token', '')",
  );
  await sql(db, 'INSERT INTO backup_run_fixes VALUES (3, 1), (6, 1), (3, 2)');
  await sql(
    db,
    `INSERT INTO backup_run_requests (target_repo, requested_by, queue_key)
     VALUES ('Org/répo-1', 'mcp', 'Org/répo-1'), (NULL, 'mcp', NULL)`,
  );
  await sql(
    db,
    `INSERT INTO worker_repo_state (repo_full_name, archive_key, archive_sha256)
     VALUES ('Org/b', 'org__b.bundle', 'b'), ('org/A', 'org__a.bundle', 'a'), ('Ørg/c', '', NULL)`,
  );
  await sql(
    db,
    `INSERT INTO archive_versions (repo_full_name, version, created_at, size_bytes, warning, pruned_at)
     SELECT (ARRAY['Org/b', 'org/A', 'Ørg/c'])[1 + n % 3], n, '2026-05-01T10:00:00.123456Z', 9007199254740993 + n,
       CASE n WHEN 7 THEN E'it''s "rewritten"\n🙂' END, CASE WHEN n < 5 THEN 'infinity'::timestamptz END
     FROM generate_series(1, 20) AS n`,
  );
  await sql(
    db,
    `INSERT INTO archive_refs (id, repo_full_name, name, object_id, from_version, to_version)
     SELECT n * 7, (ARRAY['Org/b', 'org/A'])[1 + n % 2], 'refs/heads/ü-' || n % 11, md5(n::text), n,
       CASE WHEN n < 30 THEN n + 11 END
     FROM generate_series(1, 40) AS n`,
  );
  await sql(
    db,
    `INSERT INTO archive_stores VALUES
       ('Org/b', 's3://backups/git', 20, '2026-05-01T10:00:00.123456Z', NULL, ''),
       ('Org/b', 'file:///mnt/nas', NULL, NULL, '2026-05-02T10:00:00.123456Z', E'it''s away\n🙂')`,
  );
  await sql(
    db,
    `INSERT INTO repository_sources VALUES
       ('Org/b', 'https://git.example.com/Org/b.git', '2026-05-01T10:00:00.123456Z', NULL),
       ('org/A', E'/srv/it''s/A 🙂', 'infinity', E'/srv/it''s')`,
  );
  await sql(
    db,
    `INSERT INTO sources VALUES
       (0, 'login', '', 'login', ARRAY['old-*', E'it''s "?" 🙂'], '2026-05-01T10:00:00.123456Z', E'it''s me', '2026-05-01T10:00:00.123456Z', ''),
       (7, 'folder', E'/srv/it''s', E'/srv/it''s', '{}', NULL, NULL, '2026-05-01T10:00:00.123456Z', 'ada')`,
  );
  await sql(
    db,
    `INSERT INTO anomalies (id, repo_full_name, run_id, version, kind, change_count, before, after, seen_at, confirmed_at, confirmed_by)
     SELECT n * 5, CASE WHEN n < 9 THEN 'Org/b' END, 3 * n, CASE WHEN n < 9 THEN n END, 'branches_rewritten', n,
       '{"refs/heads/ü": "1.50 \\\\ it''s"}', '{}', '2026-05-01T10:00:00.123456Z', CASE n WHEN 7 THEN 'infinity'::timestamptz END,
       CASE n WHEN 7 THEN E'it''s\n🙂' END
     FROM generate_series(1, 9) AS n`,
  );
  await sql(
    db,
    `INSERT INTO coverage VALUES
       ('Org/b', 27, '2026-05-01T10:00:00.123456Z', 'taken', '', '{"has_wiki": true, "size_bytes": 1000000007}'),
       ('Ørg/c', 27, '2026-05-01T10:00:00.123456Z', 'excluded', E'it''s left out\n🙂', '{}')`,
  );
  await fillIncidents(db);
  await sql(
    db,
    `INSERT INTO badges (id, token_sha256, repository_name, created_at, created_by, revoked_at) VALUES
       (5, repeat('ab', 32), 'Ørg/c', '2026-05-01T10:00:00.123456Z', E'it''s\n🙂', NULL),
       (9, repeat('cd', 32), NULL, '2026-05-01T10:00:00.123456Z', '', 'infinity')`,
  );
  await sql(
    db,
    `INSERT INTO forgotten_repositories VALUES
       ('Ørg/c', 9007199254740993, 'infinity', '2026-05-01T10:00:00.123456Z', E'it''s\\n🙂'),
       ('Org/b', 1, NULL, '2026-05-01T10:00:00.123456Z', '')`,
  );
  await sql(
    db,
    `INSERT INTO restore_drills (repository_name, version, storage, started_at, duration_ms, bytes, outcome, reason, evidence)
     SELECT 'Ørg/c', nullif(n, 2), 's3://backups/git', '2026-05-01T10:00:00.123456Z'::timestamptz + n * interval '1 day', 9007199254740993,
       7, (ARRAY['proven', 'failed'])[1 + n % 2], CASE WHEN n % 2 = 1 THEN E'it''s damaged\n🙂' END, '{"refs": 3, "version": "0.1.0"}'
     FROM generate_series(1, 5) AS n`,
  );
  await sql(
    db,
    `INSERT INTO objectives (name, patterns, rpo_hours) VALUES ('Ørg', ARRAY['Ørg/*', 'it''s\n'], 24)`,
  );
  await sql(
    db,
    `INSERT INTO repository_checks (repo_full_name, since, until)
     VALUES ('Ørg/c', '2026-05-01T10:00:00.123456Z', '2026-05-02')`,
  );
  await sql(
    db,
    `INSERT INTO signing_keys (id, public_key, sealed_private_key, after_drill, retired_at)
     VALUES ('former', 'pem', NULL, 0, now()), ('current', 'pem', 'v1.x', 1, NULL)`,
  );
  await sql(
    db,
    `INSERT INTO drill_statements (drill_id, key_id, statement, envelope_signature, statement_signature)
     SELECT id, 'current', '{"é": "\n"}', 'a', 'b' FROM restore_drills`,
  );
  await addUser(db, GRACE.username, await hashPassword(GRACE.password, QUICK_COST));
  await createGatewayCredentials(
    createTestDeps({ db, environment: observatoryEnvironment }),
  ).connect(ADA.username, ADAS_GATEWAY_KEY);
  await sql(
    db,
    `INSERT INTO alert_channels VALUES
       ('00000000-0000-4000-8000-0000000000aa', E'it''s\n🙂', 'ntfy', 'v1.x', 'ntfy.sh', 'ada', '2026-05-01T10:00:00.123456Z')`,
  );
  await fillObservatory(db);
  await startBuiltIn(db);
  const { process } = createBatches(db);
  await process({ batchSize: 500 });
  await activateGeneration(db, 1);
}

async function fillIncidents(db: Database): Promise<void> {
  await sql(
    db,
    `INSERT INTO incidents (id, rule, subject, summary, details, opened_at, acknowledged_at, acknowledged_by, resolved_at)
     SELECT n * 4, 'destination_unreachable', 's3://backups/' || n, E'it''s away\n🙂', '{"days": 1.50}',
       '2026-05-01T10:00:00.123456Z', CASE n WHEN 2 THEN 'infinity'::timestamptz END,
       CASE n WHEN 2 THEN E'it''s\n🙂' END, CASE n WHEN 1 THEN '2026-05-02T10:00:00.123456Z'::timestamptz END
     FROM generate_series(1, 3) AS n`,
  );
  await sql(
    db,
    `INSERT INTO incident_repositories VALUES
       (4, 'Org/b', E'it''s away\n🙂', '2026-05-01T10:00:00.123456Z', '2026-05-01T10:00:00.123456Z', 'infinity'),
       (8, 'Ørg/c', '', NULL, '2026-05-01T10:00:00.123456Z', NULL)`,
  );
  await sql(
    db,
    `INSERT INTO alert_deliveries (id, incident_id, kind, about_at, channel, created_at, attempts, unclear,
       claimed_until, claimed_by, next_attempt_at, delivered_at, given_up_at, last_error)
     VALUES (7, 4, 'opened', '2026-05-01T10:00:00.123456Z', 'slack-1', '2026-05-01T10:00:00.123456Z', 1, 0,
         '-infinity', NULL, '-infinity', '2026-05-01T10:00:01.123456Z', NULL, NULL),
       (9, 8, 'resolved', '2026-05-01T10:00:00.123456Z', 'ü', '2026-05-01T10:00:00.123456Z', 2, 2,
         '2026-05-01T10:00:00.123456Z', 'p', 'infinity', NULL, '2026-05-02T10:00:01.123456Z', E'it''s away\n🙂')`,
  );
  await sql(
    db,
    `INSERT INTO alert_notices (id, kind, about_at, channel, held_by, delivered_at)
     VALUES (5, 'summary', '2026-05-01T10:00:00.123456Z', 'ü', 'several', 'infinity')`,
  );
  await sql(
    db,
    `INSERT INTO quiet_hours (from_time, to_time, time_zone, days, critical_passes, updated_by)
     VALUES ('22:00:00.000001', '07:00', 'Europe/Berlin', '{1,7}', true, E'it''s 🙂')`,
  );
  await sql(
    db,
    `INSERT INTO digest (every, weekday, at_time, time_zone, channels, mail, updated_by)
     VALUES ('weekly', 7, '08:00', 'UTC', E'{"ü","it''s"}', true, 'ada')`,
  );
  await sql(
    db,
    `INSERT INTO status_pages (id, address_sha256, title, shows, created_by)
     VALUES (4, 'x', E'it''s 🙂', '[{"label": "ü", "repositories": ["Org/*"]}]', 'ada')`,
  );
  await sql(
    db,
    `INSERT INTO schedules (id, timing, time_zone, interval_ms, sources, paused_at, next_at, variable_of)
     VALUES (3, 'daily at 02:30', 'Europe/Berlin', 86400000, '[1, 2]', NULL, '2026-05-01T10:00:00.123456Z', NULL),
       (7, '24h', 'UTC', 9007199254740991, NULL, 'infinity', NULL, 'nas')`,
  );
  await sql(
    db,
    `INSERT INTO restores (id, repo_full_name, version, kind, target, status, result, requested_by, server, ended_at)
     VALUES (5, 'Org/répo-1', 3, 'folder', E'/it''s\n🙂', 'done', '{"b": 1,  "a": 2}', 'ada', 'nas', 'infinity')`,
  );
  await sql(
    db,
    `INSERT INTO mutes (id, scope, repository_name, incident_id, until, created_by, ended_at)
     VALUES (3, 'repository', 'Org/répo-1', NULL, 'infinity', 'ü', '2026-05-01T10:00:00.123456Z'),
       (8, 'incident', NULL, 4, '2026-05-01T10:00:00.123456Z', 'ada', NULL)`,
  );
  await sql(
    db,
    `INSERT INTO maintenance_windows (id, note, starts_at, ends_at, repeats, time_zone, created_by)
     VALUES (6, E'it''s\n🙂', '2026-05-01T10:00:00.123456Z', '2026-05-01T11:00:00Z', 'weekly', 'UTC', 'ada')`,
  );
  await sql(
    db,
    `INSERT INTO host_logins VALUES
       ('https://github.com', '2026-05-01T10:00:00.123456Z', '2027-05-01T10:00:00.123456Z', NULL, ''),
       ('https://git.example.org', '2026-05-01T10:00:00.123456Z', NULL, 'infinity', E'it''s refused\n🙂')`,
  );
  await sql(
    db,
    `INSERT INTO archive_disks VALUES ('m', '2026-05-01', 'ü', '2026-05-01T10:00:00.123456Z', 9007199254740993, 9007199254740995)`,
  );
}

async function fillObservatory(db: Database): Promise<void> {
  await sql(db, `INSERT INTO ended_sessions VALUES ('a-session', '2027-01-02 03:04:05.678901+00')`);
  await sql(
    db,
    `INSERT INTO chat_sessions (id, username, session_name)
     SELECT ('00000000-0000-4000-8000-00000000000' || n)::uuid, 'ada', 'Session ' || n
     FROM generate_series(1, 3) AS n`,
  );
  await sql(
    db,
    `INSERT INTO chat_messages (session_id, username, role, content, request_id, status, tool_calls, sources)
     SELECT CASE WHEN n % 4 > 0 THEN ('00000000-0000-4000-8000-00000000000' || 1 + n % 3)::uuid END, 'ada',
       (ARRAY['assistant', 'user'])[1 + n % 2], 'Said ' || n, 'r' || n,
       CASE WHEN n % 2 = 0 THEN 'completed' END,
       CASE WHEN n % 2 = 0 THEN '[{"tool_call_id": "c", "name": "t", "args": {"a": 1.50}, "success": true, "duration_ms": 1, "result": "a\\u0001\\"b"}]'::jsonb ELSE '[]' END,
       CASE WHEN n % 2 = 0 THEN '[{"source_type": "execution_log", "source_id": "7", "title": "Log 7", "snippet": "s", "score": 0.50, "metadata": {"run_id": 1}}]'::jsonb ELSE '[]' END
     FROM generate_series(1, 12) AS n`,
  );
  await createObservatoryClient({ db }).post('/reports', { report_type: 'latest_backup' });
}

/** What people see of a database over HTTP. */
export async function readAnswers(db: Database): Promise<Record<string, unknown>> {
  const service = createClient({ db });
  const observatory = createObservatoryClient({ db });
  const answers: Record<string, unknown> = {};
  for (const path of [
    '/api/backups?limit=500',
    '/api/backups/latest',
    '/api/backups/3',
    '/api/repos',
    '/api/logs?limit=7&page=30',
    '/api/logs?level=warn',
    '/api/logs?run_id=9&limit=500',
    '/api/dashboard/stats',
    '/api/metrics?days=3650',
    '/api/analytics/latest',
    '/api/analytics/6',
  ]) {
    answers[path] = (await service.get(path)).body;
  }
  const session = '/sessions/00000000-0000-4000-8000-000000000002';
  for (const path of ['/sessions', `${session}/messages`, '/reports', '/me/gateway']) {
    answers[path] = (await observatory.get(path)).body;
  }
  return answers;
}
