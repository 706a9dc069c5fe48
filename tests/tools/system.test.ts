import { statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { createLog } from '../../lib/log/log.ts';
import { createDatabaseSource } from '../../lib/tools/database-source.ts';
import { createSystemFacts } from '../../lib/tools/system.ts';
import { createTestClock } from '../support/clock.ts';
import { silentLog } from '../support/databases.ts';
import { downDatabaseWords, openDownDatabase } from '../support/down-database.ts';
import { useDatabase } from '../support/hooks.ts';
import { insert, sql } from '../support/records.ts';
import { type ScriptedServer, startScriptedServer } from '../support/scripted-server.ts';
import { answerOf, callTool, createTestToolDeps } from '../support/tools.ts';

const database = useDatabase();
let down: Database;
let backend: ScriptedServer;
let status = 200;
const clock = createTestClock();

beforeAll(async () => {
  down = await openDownDatabase();
  backend = await startScriptedServer(({ path }) => ({
    status: path === '/health' ? status : 404,
  }));
});
afterAll(async () => {
  await backend.close();
  await down.close();
});

const depsFor = (db: Database, archivePath = tmpdir(), backendUrl: string | null = backend.url) =>
  createTestToolDeps({
    backups: createDatabaseSource({
      ...{ db, clock, log: silentLog },
      config: { FRESHNESS_HOURS: 26 },
    }),
    system: createSystemFacts({
      archivePath,
      findBackend: async () => backendUrl,
      fetch,
      log: silentLog,
    }),
  });
const health = (...where: Parameters<typeof depsFor>) =>
  answerOf(depsFor(...where), 'get_system_health');

describe('get_system_health', () => {
  it('is HEALTHY when database, archive storage and service API answer', async () => {
    const { blocks, bsize } = await statfs(tmpdir());
    expect(await health(database.db)).toEqual({
      database: { status: 'connected', latency_ms: 0, pool_open_connections: 1 },
      storage: {
        archive_path: tmpdir(),
        total_disk_bytes: blocks * bsize,
        available_disk_bytes: expect.any(Number),
      },
      backend_api: { status: 'ok', url: backend.url },
      status: 'HEALTHY',
      repositories: { total: 0, good: 0, stale: 0, failing: 0, lost: 0, never: 0, gone: 0 },
      incidents: [],
      restore_proofs: {
        ...{ proven: 0, overdue: 0, never: 0, failing: 0, oldest_at: null },
        most_needed: [],
      },
    });
  });

  it('measures how long the database takes', async () => {
    const slow: Database = {
      ...database.db,
      query(...query) {
        clock.advance(42);
        return database.db.query(...query);
      },
    };
    expect(await health(slow)).toMatchObject({ database: { latency_ms: 42 } });
  });

  it('is DEGRADED when the archive storage cannot be read', async () => {
    const missing = join(tmpdir(), 'there-is-no-such-folder');
    expect(await health(database.db, missing)).toMatchObject({
      storage: { archive_path: missing, total_disk_bytes: null, available_disk_bytes: null },
      status: 'DEGRADED',
    });
  });

  it('is DEGRADED when the service API refuses or does not answer', async () => {
    status = 503;
    expect(await health(database.db)).toMatchObject({
      backend_api: { status: 'unreachable' },
      status: 'DEGRADED',
    });
    status = 200;
    const nowhere = 'http://127.0.0.1:1';
    expect(await health(database.db, tmpdir(), nowhere)).toMatchObject({
      backend_api: { status: 'unreachable', url: nowhere },
      status: 'DEGRADED',
    });
  });

  it('is DEGRADED without asking anybody if no address of the service API is known', async () => {
    expect(await health(database.db, tmpdir(), null)).toMatchObject({
      backend_api: { status: 'unreachable', url: '' },
      status: 'DEGRADED',
      message: expect.stringContaining('npm start'),
    });
  });

  it.each([
    ['critical', 'repository_failing', 'DEGRADED', ['1 critical incident is open']],
    ['warning', 'disk_filling', 'HEALTHY', undefined],
  ])('counts an open %s incident', async (_, rule, expected, problems) => {
    await insert(database.db, 'incidents', { rule, subject: '', summary: 's' });
    const answer = await health(database.db);
    await sql(database.db, 'TRUNCATE incidents CASCADE');
    expect(answer).toMatchObject({ status: expected });
    expect(answer.problems).toEqual(problems);
  });

  it('finds a critical incident behind many newer warnings', async () => {
    await sql(
      database.db,
      `INSERT INTO incidents (rule, subject, summary, opened_at)
       SELECT CASE n WHEN 1 THEN 'run_failed' ELSE 'disk_filling' END, n::text, 's', timestamptz '2026-01-01' + n * interval '1 day'
       FROM generate_series(1, 40) AS n`,
    );
    const answer = await health(database.db);
    await sql(database.db, 'TRUNCATE incidents CASCADE');
    expect(answer).toMatchObject({ status: 'DEGRADED', incidents: expect.anything() });
    expect(answer.incidents).toContainEqual(expect.objectContaining({ rule: 'run_failed' }));
  });

  it('fits the budget of the chat however many incidents are open, and says what is left out', async () => {
    await sql(
      database.db,
      `WITH opened AS (
         INSERT INTO incidents (rule, subject, summary)
         SELECT 'repository_failing', n::text, repeat('s', 1000) FROM generate_series(1, 20) AS n
         RETURNING id
       )
       INSERT INTO incident_repositories (incident_id, repository_name, reason, since)
       SELECT id, repeat('o', 100) || '/' || repeat('r', 100) || n, 'r', now() FROM opened, generate_series(1, 10) AS n`,
    );
    const outcome = await callTool(depsFor(database.db), 'get_system_health', {}, 16_000);
    await sql(database.db, 'TRUNCATE incidents CASCADE');
    expect(outcome).toMatchObject({
      ok: true,
      output: {
        incidents: expect.arrayContaining([
          expect.objectContaining({ rule: 'repository_failing' }),
        ]),
        truncated: true,
        more: expect.stringMatching(/^\d+ further open incidents, which did not fit$/),
      },
    });
  });

  it('is UNHEALTHY without a database, whatever else answers', async () => {
    const answer = await health(down);
    expect(answer).toMatchObject({
      database: { status: 'disconnected', latency_ms: null },
      backend_api: { status: 'ok' },
      status: 'UNHEALTHY',
      repositories: null,
      incidents: null,
    });
    expect(JSON.stringify(answer.database)).not.toMatch(downDatabaseWords);
  });

  it('logs why a part does not answer, and shows no credentials from an address', async () => {
    const lines: string[] = [];
    const log = createLog('debug', clock, (line) => lines.push(line));
    const url = 'http://me:hunter2@127.0.0.1:1/api/';
    const facts = createSystemFacts({
      archivePath: '/nowhere',
      findBackend: async () => url,
      fetch,
      log,
    });
    const { signal } = new AbortController();
    expect(await facts.checkBackend(signal)).toEqual({
      status: 'unreachable',
      url: 'http://127.0.0.1:1/api',
    });
    await facts.checkStorage();
    expect(lines).toHaveLength(2);
    expect(lines.join()).not.toContain('hunter2');
  });
});
