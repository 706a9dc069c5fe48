import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { migrate } from '../../../lib/database/migrate.ts';
import { hashingEmbedder } from '../../../lib/search/embedders/embedder.ts';
import { hashingModel } from '../../../lib/search/embedders/hashing.ts';
import { activateGeneration, startGeneration } from '../../../lib/search/generations.ts';
import { processBatches } from '../../../lib/search/process-batch.ts';
import { createRedactor } from '../../../lib/security/redaction/redactor.ts';
import { openCredentialsFile } from '../../../lib/worker/logins/credentials-file.ts';
import { createPostgres, silentLog, type TestDatabase } from '../../support/databases.ts';
import { countJobs, createPostgresWithVectors } from '../../support/embeddings.ts';
import { temporaryFolder } from '../../support/folders.ts';
import { insertLog, sql } from '../../support/records.ts';
import { times } from '../size.ts';
import { beginWork } from './begin-work.ts';
import { createLanes, killRepeatedly } from './kill-repeatedly.ts';
import { untilAlone } from './until-alone.ts';

// Atomic work, killed at random moments.

const inTurn = createLanes();

describe.concurrent('a killed process', () => {
  it('leaves a migration that the next start completes', () =>
    inTurn(async () => {
      let database: TestDatabase;
      await killRepeatedly('migration', {
        async begin() {
          database = await createPostgres({ migrated: false });
          return beginWork('migrate', database.url);
        },
        async check() {
          const { db } = database;
          // Does not wait for the statement of the killed process: the lock does that.
          await migrate(db, 'drizzle');
          const journal = await sql<{ tags: number; rows: number }>(
            db,
            `SELECT count(DISTINCT created_at)::int AS tags, count(*)::int AS rows
             FROM drizzle.__drizzle_migrations`,
          );
          const { entries } = JSON.parse(await readFile('drizzle/meta/_journal.json', 'utf8'));
          expect(journal).toEqual([{ tags: entries.length, rows: entries.length }]);
          await insertLog(db, { message: 'it takes rows' });
          await database.close();
        },
      });
    }));

  it('leaves no job undone, and none done twice', ({ onTestFinished }) =>
    inTurn(async () => {
      const database = await createPostgresWithVectors();
      onTestFinished(database.close);
      const { db } = database;
      const logs = 150;
      for (let count = 0; count < logs; count += 1) {
        await insertLog(db, { message: `clone ${count} failed`, repository: 'acme/widgets' });
      }
      let generationId = 0;
      await killRepeatedly('batch', {
        async begin() {
          ({ id: generationId } = await startGeneration(db, hashingModel));
          return beginWork('batch', database.url, String(generationId));
        },
        async check() {
          await untilAlone(db);
          // Instead of waiting for the 5-minute lease to expire.
          await sql(db, "UPDATE embedding_jobs SET leased_until = '-infinity'");
          const deps = { db, clock: systemClock, log: silentLog, redactor: createRedactor([]) };
          const report = await processBatches(
            { ...deps, openEmbedder: async () => hashingEmbedder },
            { generationId, batchSize: 500, maxBatches: 50, budgetMs: 60_000 },
          );
          expect(report.generation_status).toBe('READY');
          expect(await countJobs(db)).toEqual({ completed: logs });
          const chunks = await sql(
            db,
            `SELECT count(*)::int AS chunks, count(DISTINCT source_id)::int AS sources
             FROM embedding_chunks WHERE generation_id = $1::int`,
            [generationId],
          );
          expect(chunks).toEqual([{ chunks: logs, sources: logs }]);
          await sql(db, 'DELETE FROM embedding_chunks');
          await sql(db, 'DELETE FROM embedding_jobs');
          await sql(db, 'DELETE FROM embedding_generations');
        },
      });
    }));

  it('leaves exactly one generation active: the last acknowledged one or the next', ({
    onTestFinished,
  }) =>
    inTurn(async () => {
      const database = await createPostgresWithVectors();
      onTestFinished(database.close);
      const { db } = database;
      let ids: number[] = [];
      await killRepeatedly('activation', {
        async begin() {
          const rows = await sql<{ id: number }>(
            db,
            `INSERT INTO embedding_generations (model_id, dimensions, status)
             SELECT 'acme/embed', 8, 'READY' FROM generate_series(1, 60) RETURNING id`,
          );
          ids = rows.map(({ id }) => id);
          return beginWork('activate', database.url, ...ids.map(String));
        },
        async check({ said }) {
          await untilAlone(db);
          const text = "SELECT id FROM embedding_generations WHERE status = 'ACTIVE'";
          const active = await sql<{ id: number }>(db, text);
          const acknowledged = [...(said?.() ?? '').matchAll(/^done (\d+)$/gm)].length;
          // Nothing is active before the very first activation.
          const right = [ids[acknowledged - 1], ids[acknowledged]].filter((id) => id !== undefined);
          if (active.length > 0 || acknowledged > 0) {
            expect(active).toHaveLength(1);
            expect(right).toContain(active[0]?.id);
          }
          const left = ids.at(-1) ?? 0;
          await activateGeneration(db, left);
          expect(await sql(db, text)).toEqual([{ id: left }]);
          await sql(db, 'DELETE FROM embedding_generations');
        },
      });
    }));

  it('leaves credentials.json intact, and no copy of a secret beside it', ({ onTestFinished }) =>
    inTurn(async () => {
      const folder = await temporaryFolder();
      onTestFinished(folder.remove);
      const path = join(folder.path, 'config');
      const file = openCredentialsFile(path, () => undefined);
      let round = 0;
      let known: string[] = [];
      await killRepeatedly('credentials', {
        async begin() {
          round += 1;
          return beginWork('credentials', path, String(round));
        },
        async check({ said }) {
          const acknowledged = [...(said?.() ?? '').matchAll(/^done (\S+)$/gm)].map(([, it]) => it);
          const logins = Object.keys(await file.read());
          expect(logins).toEqual(expect.arrayContaining([...known, ...acknowledged]));
          expect(logins.length).toBeLessThanOrEqual(known.length + acknowledged.length + 1);
          // The next change does not wait, and removes unfinished files.
          await file.locked(async (held) => held.write(await held.read()));
          expect((await readdir(path)).sort()).toEqual(['credentials.json', 'credentials.lock']);
          known = logins;
        },
      });
      expect(round).toBe(times(4, 100) + 1);
    }));
});
