import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { connect } from '../support/connection.ts';
import { createEmbedded, createPostgres } from '../support/databases.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertLog, insertResult, insertRun, sql } from '../support/records.ts';

// Chunks of deleted or changed sources are removed at once (0005_embeddings.sql, 0008_forgotten_sources.sql).

interface Left {
  jobs: string[];
  chunks: string[];
}

async function readLeft(db: Database): Promise<Left> {
  const [left] = await sql<{ jobs: string[] | null; chunks: string[] | null }>(
    db,
    `SELECT (SELECT json_agg(source_type || ' ' || source_id || ' ' || status ORDER BY id)
             FROM embedding_jobs) AS jobs,
            (SELECT json_agg(source_type || ' ' || source_id || ' ' || content ORDER BY id)
             FROM embedding_chunks) AS chunks`,
  );
  return { jobs: left?.jobs ?? [], chunks: left?.chunks ?? [] };
}

/** A finished job and its chunk, as process-batch leaves them. */
async function embed(db: Database, sourceType: string, sourceId: number): Promise<void> {
  await sql(
    db,
    `INSERT INTO embedding_jobs (generation_id, source_type, source_id, status)
     VALUES (1, $1, $2::text, 'completed')`,
    [sourceType, String(sourceId)],
  );
  await sql(
    db,
    `INSERT INTO embedding_chunks
       (generation_id, source_type, source_id, chunk_index, content, source_created_at)
     VALUES (1, $1, $2::text, 0, 'text', now())`,
    [sourceType, String(sourceId)],
  );
}

describe.each([
  ['the embedded database', createEmbedded],
  ['Postgres', createPostgres],
])('over %s', (name, create) => {
  const database = useDatabase(create);
  let db: Database;

  beforeAll(async () => {
    db = database.db;
  });
  beforeEach(async () => {
    await empty(db);
    await sql(
      db,
      `TRUNCATE embedding_generations, embedding_jobs, embedding_chunks, chat_messages
       RESTART IDENTITY`,
    );
    await sql(db, `INSERT INTO embedding_generations (model_id, dimensions) VALUES ('m', 3)`);
  });

  it("a deleted log takes its job and chunks with it, and no other's", async () => {
    const gone = await insertLog(db, { message: 'gone' });
    const kept = await insertLog(db, { message: 'kept' });
    await embed(db, 'execution_log', gone);
    await embed(db, 'execution_log', kept);
    await embed(db, 'backup_result', gone);
    await sql(db, 'DELETE FROM execution_logs WHERE id = $1', [gone]);
    expect(await readLeft(db)).toEqual({
      jobs: [`execution_log ${kept} completed`, `backup_result ${gone} completed`],
      chunks: [`execution_log ${kept} text`, `backup_result ${gone} text`],
    });
  });

  it('a changed log is queued again, and its old chunks are deleted', async () => {
    const changed = await insertLog(db, { message: 'token=…' });
    const same = await insertLog(db, { message: 'same', repository: null });
    await embed(db, 'execution_log', changed);
    await embed(db, 'execution_log', same);
    await sql(
      db,
      `UPDATE execution_logs
       SET message = CASE id WHEN ${changed} THEN 'scrubbed' ELSE message END`,
    );
    expect(await readLeft(db)).toEqual({
      jobs: [`execution_log ${same} completed`, `execution_log ${changed} pending`],
      chunks: [`execution_log ${same} text`],
    });
  });

  it('tables of other programs may have columns of types without an equality operator', async () => {
    await sql(db, 'ALTER TABLE execution_logs ADD COLUMN extra json');
    try {
      const same = await insertLog(db, { message: 'same' });
      const changed = await insertLog(db, { message: 'same' });
      await embed(db, 'execution_log', same);
      await embed(db, 'execution_log', changed);
      await sql(db, "UPDATE execution_logs SET extra = '{}'");
      await embed(db, 'execution_log', 900);
      await sql(
        db,
        `UPDATE execution_logs SET message = CASE id WHEN ${changed} THEN 'new' ELSE message END`,
      );
      expect((await readLeft(db)).jobs.sort()).toEqual(
        [
          `execution_log ${same} pending`,
          `execution_log ${changed} pending`,
          'execution_log 900 completed',
        ].sort(),
      );
    } finally {
      await sql(db, 'ALTER TABLE execution_logs DROP COLUMN extra');
    }
  });

  it('a log that changes its id leaves nothing under the old one', async () => {
    const id = await insertLog(db, { message: 'moved' });
    await embed(db, 'execution_log', id);
    await sql(db, 'UPDATE execution_logs SET id = 900 WHERE id = $1', [id]);
    expect(await readLeft(db)).toEqual({ jobs: [], chunks: [] });
  });

  it('results are deleted with their run', async () => {
    const run = await insertRun(db);
    await embed(db, 'backup_result', await insertResult(db, run, 'o/a'));
    await sql(db, 'DELETE FROM backup_runs WHERE id = $1', [run]);
    expect(await readLeft(db)).toEqual({ jobs: [], chunks: [] });
  });

  it('answers are deleted with their session', async () => {
    await sql(
      db,
      `WITH session AS (INSERT INTO chat_sessions (username) VALUES ('ada') RETURNING id)
       INSERT INTO chat_messages (session_id, username, role, content, request_id, status)
       SELECT id, 'ada', 'assistant', 'an answer', 'r1', 'completed' FROM session`,
    );
    await embed(db, 'investigation', 1);
    await sql(db, 'DELETE FROM chat_sessions');
    expect(await readLeft(db)).toEqual({ jobs: [], chunks: [] });
  });

  it('TRUNCATE of a source deletes only its own chunks', async () => {
    await embed(db, 'execution_log', await insertLog(db));
    await embed(db, 'backup_result', 5);
    await sql(db, 'TRUNCATE execution_logs');
    expect(await readLeft(db)).toEqual({
      jobs: ['backup_result 5 completed'],
      chunks: ['backup_result 5 text'],
    });
  });

  // The embedded database has only one role.
  it.runIf(name === 'Postgres')('a writer needs no rights on the chunks', async () => {
    const id = await insertLog(db, { message: 'gone' });
    await embed(db, 'execution_log', id);
    await sql(db, 'CREATE ROLE another_writer');
    await sql(db, 'GRANT SELECT, DELETE ON execution_logs TO another_writer');
    try {
      await sql(db, 'SET ROLE another_writer; DELETE FROM execution_logs; RESET ROLE');
    } finally {
      await sql(db, 'REVOKE ALL ON execution_logs FROM another_writer');
      await sql(db, 'DROP ROLE another_writer');
    }
    expect(await readLeft(db)).toEqual({ jobs: [], chunks: [] });
  });
});

it('mass deletions get their own plan, whatever the session deleted before', async () => {
  const COUNT = 3_000;
  const database = await createPostgres();
  const client = await connect(database.url);
  try {
    await client.query(
      `INSERT INTO embedding_generations (model_id, dimensions) VALUES ('m', 3);
       INSERT INTO execution_logs (message) SELECT n FROM generate_series(1, ${COUNT}) AS n;
       INSERT INTO embedding_jobs (generation_id, source_type, source_id, status)
         SELECT 1, 'execution_log', id::text, 'completed' FROM execution_logs;
       INSERT INTO embedding_chunks
         (generation_id, source_type, source_id, chunk_index, content, source_created_at)
         SELECT 1, 'execution_log', id::text, 0, 'text', now() FROM execution_logs;
       ANALYZE embedding_jobs`,
    );
    await client.query('DELETE FROM execution_logs WHERE id = 1');
    await client.query('SELECT pg_stat_force_next_flush()');
    const before = await readRows(client);
    await client.query('DELETE FROM execution_logs');
    await client.query('SELECT pg_stat_force_next_flush()');
    expect((await readRows(client)) - before).toBeLessThan(COUNT * 10);
  } finally {
    await client.end();
    await database.close();
  }
});

/** The number of job and chunk rows read so far, including deleted ones. */
async function readRows(client: Awaited<ReturnType<typeof connect>>): Promise<number> {
  const { rows } = await client.query(
    `SELECT sum(seq_tup_read + idx_tup_fetch)::int AS rows FROM pg_stat_user_tables
     WHERE relname IN ('embedding_jobs', 'embedding_chunks')`,
  );
  return rows[0].rows;
}
