import { mkdir, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createArchiveReader } from '../../../lib/archives/archives.ts';
import { systemClock } from '../../../lib/clock.ts';
import { embeddedUrl } from '../../../lib/database/embedded/address.ts';
import { findRecordedArchive } from '../../../lib/records/recorded-archive.ts';
import { STALE_RUN_MESSAGE, sweepStaleRuns } from '../../../lib/records/runs/stale-runs.ts';
import { createRedactor } from '../../../lib/security/redaction/redactor.ts';
import { chatEnvironment, say } from '../../support/chat.ts';
import { connect } from '../../support/connection.ts';
import { createPostgres } from '../../support/databases.ts';
import { TEST_SECRET } from '../../support/deps.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { startGateway } from '../../support/gateway.ts';
import { createRepository, git } from '../../support/git.ts';
import { startIn } from '../../support/local-start.ts';
import { ADA, observatoryEnvironment } from '../../support/observatory-client.ts';
import { sql } from '../../support/records.ts';
import { runScript, startScript } from '../../support/script.ts';
import { seed, times } from '../size.ts';
import { createLanes, createRandom, killRepeatedly } from './kill-repeatedly.ts';
import { untilAlone } from './until-alone.ts';

// Whole commands, killed at random moments.

const inTurn = createLanes();
const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

describe.concurrent('a killed command', () => {
  it('leaves only intact archives, and a run that is swept or taken over', ({ onTestFinished }) =>
    inTurn(async () => {
      const [database, folder] = [await createPostgres(), await temporaryFolder()];
      onTestFinished(folder.remove);
      onTestFinished(database.close);
      const { db } = database;
      const archives = join(folder.path, 'archives');
      const names = ['app', 'lib'];
      const repositories = await Promise.all(
        names.map((name) => createRepository(join(folder.path, name))),
      );
      const run = {
        args: ['run', ...names.flatMap((name) => ['--source', name])],
        env: {
          DATABASE_URL: database.url,
          BACKUP_ARCHIVE_PATH: archives,
          DRILL_BUDGET_MINUTES: '0',
        },
        cwd: folder.path,
      };
      const reader = createArchiveReader({
        root: archives,
        scratchFolder: tmpdir(),
        environment: { PATH: process.env.PATH },
        clock: systemClock,
        findRecord: (repository) => findRecordedArchive(db, repository),
        redactor: createRedactor([]),
      });
      let round = 0;
      await killRepeatedly('backup run', {
        async begin() {
          round += 1;
          for (const it of repositories) {
            await it.commit({ 'a.txt': `${round}`, 'b.txt': 'b'.repeat(200_000) });
          }
          const worker = startScript('worker', run);
          await worker.waitFor(/run \d+ started/);
          return worker;
        },
        async check() {
          for (const name of await readdir(archives)) {
            if (name.endsWith('.bundle')) await expectWhole(join(archives, name), folder.path);
          }
          await untilAlone(db);
          const since = "now() - interval '1 hour'";
          const open = await sql<{ id: number }>(
            db,
            `UPDATE backup_runs SET started_at = ${since}, heartbeat_at = ${since}
             WHERE status = 'running' RETURNING id`,
          );
          await sql(db, `UPDATE execution_logs SET created_at = ${since}`);
          await sql(db, `UPDATE backup_results SET created_at = ${since}`);
          // Every other time, the sweep runs before the next run.
          if (round % 2 === 0) {
            const rule = { now: Date.now(), staleAfterMs: 30 * 60_000 };
            expect(await sweepStaleRuns(db, rule)).toEqual(open.map(({ id }) => id));
          }
          const next = await runScript('worker', run);
          expect(next, next.stderr).toMatchObject({ code: 0 });
          const left = await sql(db, "SELECT FROM backup_runs WHERE status = 'running'");
          expect(left).toEqual([]);
          for (const { id } of open) {
            const text = 'SELECT status, error_message FROM backup_runs WHERE id = $1::int';
            const swept = { status: 'failed', error_message: STALE_RUN_MESSAGE };
            expect(await sql(db, text, [id])).toEqual([swept]);
          }
          for (const name of names) {
            const { signal } = new AbortController();
            const verified = await reader.verify(`local/${name}`, { signal });
            expect(verified).toMatchObject({ integrity_status: 'VALID_UNCOMPROMISED' });
          }
          const kept = (await readdir(archives)).filter((name) => name.startsWith('.scratch'));
          expect(kept).toEqual([]);
        },
      });
    }));

  it('leaves no answer in the chat without its question', ({ onTestFinished }) =>
    inTurn(async () => {
      const [database, gateway] = [await createPostgres(), await startGateway()];
      const folder = await temporaryFolder();
      onTestFinished(folder.remove);
      onTestFinished(gateway.close);
      onTestFinished(database.close);
      gateway.routes.set('/chat/completions', (_request, response) => {
        void say({ text: ['All ', 'is ', 'well.'], gate: pause(150) }, response);
      });
      const environment = {
        DATABASE_URL: database.url,
        INTERNAL_SECRET: TEST_SECRET,
        ...(observatoryEnvironment as Record<string, string>),
        ...chatEnvironment(gateway),
      };
      const asked = 3;
      let [round, token] = [0, ''];
      await killRepeatedly('chat turn', {
        async begin() {
          round += 1;
          const server = await startIn(folder.path, environment);
          token ||= await logIn(server.url);
          const turns = Array.from({ length: asked }, async (_, index) => {
            const response = await fetch(`${server.url}/observatory/chat/stream`, {
              method: 'POST',
              headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
              body: JSON.stringify({ question: `Is all well, ${round}-${index}?` }),
            });
            await response.text();
          });
          return { child: server.child, done: Promise.allSettled(turns) };
        },
        async check() {
          await untilAlone(database.db);
          const turns = await sql<{ roles: string; statuses: string | null }>(
            database.db,
            `SELECT string_agg(role, ', ' ORDER BY id) AS roles, max(status) AS statuses
             FROM chat_messages GROUP BY request_id`,
          );
          for (const { roles, statuses } of turns) {
            expect(['user', 'user, assistant']).toContain(roles);
            if (roles !== 'user') expect(statuses).toMatch(/^(completed|failed)$/);
          }
          expect(turns.length).toBeLessThanOrEqual(round * asked);
          // The first round, which is not killed, includes all of them.
          if (round === 1) expect(turns).toHaveLength(asked);
        },
      });
    }));

  it('leaves an embedded database that opens again and contains what was acknowledged', ({
    onTestFinished,
  }) =>
    inTurn(async () => {
      const folder = await temporaryFolder();
      onTestFinished(folder.remove);
      const url = embeddedUrl(join(folder.path, '.data'));
      const random = createRandom('embedded database');
      const kills = times(4, 100);
      let acknowledged = 0;
      for (let kill = 1; kill <= kills; kill += 1) {
        // One kill in four comes during the start, which may be the recovery from the kill before.
        const isEarly = random() < 0.25;
        const afterMs = Math.round(random() * (isEarly ? 3_000 : 1_000));
        try {
          if (isEarly) {
            const script = startScript('start', { cwd: folder.path, env: { PORT: '0' } });
            await pause(afterMs);
            script.child.kill('SIGKILL');
            await script.finished;
            continue;
          }
          const server = await startIn(folder.path);
          const client = await connect(url);
          client.on('error', () => undefined);
          expect(await countRows(client)).toBeGreaterThanOrEqual(acknowledged);
          acknowledged = await countRows(client);
          const writing = (async () => {
            for (;;) {
              const { rowCount } = await client.query(insertMany);
              acknowledged += rowCount ?? 0;
            }
          })().catch(() => undefined);
          await pause(afterMs);
          server.child.kill('SIGKILL');
          await server.finished;
          await writing;
        } catch (error) {
          const when = `kill ${kill} after ${afterMs} ms, --seed ${seed}`;
          throw new Error(`embedded database: ${when}: ${String(error)}`, { cause: error });
        }
      }
      const server = await startIn(folder.path);
      const client = await connect(url);
      expect(await countRows(client)).toBeGreaterThanOrEqual(acknowledged);
      await client.end();
      server.child.kill('SIGTERM');
      expect(await server.finished).toMatchObject({ code: 0 });
      expect(acknowledged).toBeGreaterThan(0);
    }));
});

const insertMany = `INSERT INTO execution_logs (message, level)
  SELECT repeat('x', 500), 'info' FROM generate_series(1, 50)`;

async function countRows(client: Awaited<ReturnType<typeof connect>>): Promise<number> {
  const { rows } = await client.query('SELECT count(*)::int AS n FROM execution_logs');
  return rows[0].n;
}

async function logIn(url: string): Promise<string> {
  const body = new URLSearchParams(ADA);
  const response = await fetch(`${url}/auth/login`, { method: 'POST', body });
  return ((await response.json()) as { access_token: string }).access_token;
}

/** Unpacks a bundle, which verifies its checksum and completeness. */
async function expectWhole(bundle: string, folder: string): Promise<void> {
  const clone = join(folder, `clone-${Math.random()}.git`);
  await mkdir(clone);
  await git(folder, 'clone', '--quiet', '--mirror', bundle, clone);
  await git(clone, 'fsck', '--full', '--strict');
}
