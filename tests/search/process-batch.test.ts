import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { hashingEmbedder } from '../../lib/search/embedders/embedder.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';

import {
  countJobs,
  createBatches,
  createPostgresWithVectors,
  listChunks,
  startBuiltIn,
} from '../support/embeddings.ts';
import { insertLog, insertResult, insertRun, sql } from '../support/records.ts';
import { insertAnswer, useSearchDatabase } from '../support/search.ts';

const database = useSearchDatabase(createPostgresWithVectors);
let db: Database;
beforeAll(() => {
  db = database.db;
});

/** Records which texts are embedded. */
function createRecorder() {
  const asked: string[] = [];
  return {
    asked,
    embedder: {
      ...hashingEmbedder,
      embed: (texts: readonly string[]) => {
        asked.push(...texts);
        return hashingEmbedder.embed(texts);
      },
    },
  };
}

const insertLogs = (count: number) =>
  sql(
    db,
    `INSERT INTO execution_logs (message) SELECT 'log ' || n FROM generate_series(1, ${count}) n`,
  );

describe('process-batch', () => {
  it('stores the text of each record with its metadata and time', async () => {
    const run = await insertRun(db);
    const created_at = '2026-03-01T10:00:00.123456Z';
    await insertLog(db, {
      ...{ run_id: run, level: 'error', message: 'disk full', repository: 'o/r', created_at },
    });
    await insertResult(db, run, 'o/r', {
      ...{ status: 'failed', error_message: 'exit status 128', commit_hash: 'abc123', created_at },
    });
    await insertAnswer(db, 'ada', 'Why did it fail?', 'The disk was full.');
    await startBuiltIn(db);
    await createBatches(db).process();
    const rows = await sql(
      db,
      `SELECT source_type, content, metadata::text AS metadata,
         source_created_at = '${created_at}' AS is_of_then
       FROM embedding_chunks ORDER BY source_type`,
    );
    expect(
      rows.map((row) => {
        const { metadata, ...rest } = row as { metadata: string };
        return { ...rest, metadata: JSON.parse(metadata) };
      }),
    ).toEqual([
      {
        source_type: 'backup_result',
        content: 'o/r failed abc123: exit status 128',
        metadata: { repository: 'o/r', status: 'failed', run_id: run, commit_hash: 'abc123' },
        is_of_then: true,
      },
      {
        source_type: 'execution_log',
        content: 'disk full',
        metadata: { repository: 'o/r', level: 'error', run_id: run },
        is_of_then: true,
      },
      {
        source_type: 'investigation',
        content: 'Why did it fail?\n\nThe disk was full.',
        metadata: { session_id: null, username: 'ada', request_id: expect.any(String) },
        is_of_then: false,
      },
    ]);
  });

  it('embeds the message and the repository of a log', async () => {
    await insertLog(db, { level: 'warn', message: 'slow', repository: 'owner/name' });
    await startBuiltIn(db);
    const { asked, embedder } = createRecorder();
    await createBatches(db, { embedder }).process();
    expect(asked).toEqual(['owner/name warn\nslow']);
    expect(await listChunks(db)).toEqual(['execution_log 1: slow']);
  });

  it('embeds the repository of a log without a message, and nothing of a log with neither', async () => {
    await insertLog(db, { message: '', level: '', repository: 'owner/name' });
    await insertLog(db, { message: '  ', level: '', repository: null });
    await startBuiltIn(db);
    expect(await createBatches(db).process()).toMatchObject({ succeeded: 2, failed: 0 });
    expect(await listChunks(db)).toEqual(['execution_log 1: owner/name']);
  });

  it('removes secrets before it stores or embeds a text', async () => {
    const configured = 'a-configured-secret-value';
    await insertLog(db, {
      message: `push to https://ada:hunter2hunter2@host/x failed: Bearer abcdefghijklmnop ${configured}`,
      repository: `https://ada:hunter2hunter2@host/x`,
    });
    await startBuiltIn(db);
    const { asked, embedder } = createRecorder();
    await createBatches(db, { embedder, redactor: createRedactor([configured]) }).process();
    const [row] = await sql<{ all: string }>(
      db,
      'SELECT content || metadata::text AS all FROM embedding_chunks',
    );
    for (const text of [row?.all ?? '', asked.join()]) {
      expect(text).toContain('push to https://');
      expect(text).not.toMatch(/hunter2|abcdefghijklmnop|a-configured-secret/);
    }
  });

  it('splits a long text into several chunks, each found under its index', async () => {
    await insertLog(db, { message: 'many words '.repeat(300) });
    await startBuiltIn(db);
    await createBatches(db).process();
    expect(
      await sql(
        db,
        `SELECT chunk_index, length(content) <= 1000 AS is_short, split_part(embedding, ',', 384) <> '' AS has_vector
         FROM embedding_chunks ORDER BY chunk_index`,
      ),
    ).toEqual(
      [0, 1, 2, 3].map((chunk_index) => ({ chunk_index, is_short: true, has_vector: true })),
    );
  });

  it('embeds only the beginning of an endless text', async () => {
    await insertLog(db, { message: 'word '.repeat(200_000) });
    await startBuiltIn(db);
    await createBatches(db).process();
    const chunks = await listChunks(db);
    expect(chunks.length).toBeGreaterThan(60);
    expect(chunks.length).toBeLessThan(100);
  });

  it('embeds equal records once', async () => {
    await sql(db, "INSERT INTO execution_logs (message) SELECT 'same' FROM generate_series(1, 40)");
    await startBuiltIn(db);
    const { asked, embedder } = createRecorder();
    await createBatches(db, { embedder }).process();
    expect(asked).toHaveLength(1);
    expect(await listChunks(db)).toHaveLength(40);
  });
});

describe('the amount of work of process-batch', () => {
  it('is batch_size jobs times max_batches', async () => {
    await sql(
      db,
      `INSERT INTO execution_logs (message)
       SELECT repeat('many words ', 200) || n FROM generate_series(1, 10) AS n`,
    );
    await startBuiltIn(db);
    expect(await createBatches(db).process({ batchSize: 3, maxBatches: 2 })).toEqual({
      processed: 6,
      succeeded: 6,
      failed: 0,
      batches: 2,
      generation_status: 'BUILDING',
    });
  });

  it('is bounded by the time budget, and unstarted jobs are free again at once', async () => {
    await insertLogs(20);
    await startBuiltIn(db);
    const batches = createBatches(db, {
      embedder: {
        ...hashingEmbedder,
        batchSize: 4,
        embed: (texts) => {
          batches.clock.advance(10_000);
          return hashingEmbedder.embed(texts);
        },
      },
    });
    const report = await batches.process({ batchSize: 10, budgetMs: 15_000 });
    expect(report).toMatchObject({ processed: 8, batches: 1, generation_status: 'BUILDING' });
    expect(await countJobs(db)).toEqual({ completed: 8, pending: 12 });
  });

  it('is at least one group, however short the budget', async () => {
    await insertLogs(2);
    await startBuiltIn(db);
    expect(await createBatches(db).process({ batchSize: 1, budgetMs: 0 })).toMatchObject({
      processed: 1,
      batches: 1,
    });
  });

  it('is bounded by the lease', async () => {
    await insertLogs(12);
    await startBuiltIn(db);
    const batches = createBatches(db, {
      embedder: {
        ...hashingEmbedder,
        batchSize: 4,
        embed: (texts) => {
          batches.clock.advance(250_000);
          return hashingEmbedder.embed(texts);
        },
      },
    });
    const request = { batchSize: 12, maxBatches: 1, budgetMs: 3_600_000 };
    expect(await batches.process(request)).toMatchObject({ processed: 4 });
    expect(await countJobs(db)).toEqual({ completed: 4, pending: 8 });
  });
});
