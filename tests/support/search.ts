import { afterAll, beforeAll, beforeEach } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import type { Database } from '../../lib/database/database.ts';
import { AppError } from '../../lib/errors.ts';
import { hashingEmbedder } from '../../lib/search/embedders/embedder.ts';
import { hashingModel } from '../../lib/search/embedders/hashing.ts';
import { activateGeneration, startGeneration } from '../../lib/search/generations.ts';
import { processBatches } from '../../lib/search/process-batch.ts';
import {
  type SearchDeps,
  type SearchOutcome,
  type SearchRequest,
  search,
} from '../../lib/search/search.ts';
import { dropOrphanedIndexes } from '../../lib/search/vector-index.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';
import { silentLog, type TestDatabase } from './databases.ts';
import { latest } from './hooks.ts';
import { empty, sql, truncate } from './records.ts';

/** The file's database for searches, with no records, answers or generations when a test begins. */
export function useSearchDatabase(create: () => Promise<TestDatabase>): TestDatabase {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await create();
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    await empty(database.db);
    await truncate(database.db, 'chat_messages');
    await forgetGenerations(database.db);
  });
  return latest(() => database);
}

/** A gateway without any keys. */
const withoutGateway: Pick<SearchDeps, 'client' | 'resolveKeys'> = {
  client: {
    embedTexts: () => Promise.reject(new Error('no key was resolved')),
    rerankDocuments: () => Promise.reject(new Error('no key was resolved')),
  },
  resolveKeys: async () => {
    throw new AppError('GATEWAY_NOT_CONFIGURED', 'no key for the model gateway');
  },
};

/** Searches everything, without a gateway. */
export function ask(
  db: Database,
  query: string,
  request: Partial<SearchRequest> = {},
): Promise<SearchOutcome> {
  return search(
    { db, log: silentLog, redactor: createRedactor([]), ...withoutGateway },
    {
      query,
      sourceTypes: ['execution_log', 'backup_result', 'investigation', 'backup_fix'],
      limit: 10,
      ftsWeight: 1,
      semanticWeight: 1,
      rerankModel: null,
      investigationsOf: null,
      // Results must not depend on how busy the machine is.
      budgetMs: 60_000,
      ...request,
    },
  );
}

/** What was found, best first: `execution_log 7`. */
export async function find(
  db: Database,
  query: string,
  request: Partial<SearchRequest> = {},
): Promise<string[]> {
  const { results } = await ask(db, query, request);
  return results.map(({ source_type, source_id }) => `${source_type} ${source_id}`);
}

/** Embeds everything with the built-in model and activates the generation. Returns its id. */
export async function activateBuiltIn(db: Database): Promise<number> {
  const { id } = await startGeneration(db, hashingModel);
  await processBatches(
    {
      db,
      clock: systemClock,
      log: silentLog,
      redactor: createRedactor([]),
      openEmbedder: async () => hashingEmbedder,
    },
    { generationId: id, batchSize: 500, maxBatches: 50, budgetMs: 600_000 },
  );
  await activateGeneration(db, id);
  return id;
}

/** Removes every generation with everything that belongs to it. */
export async function forgetGenerations(db: Database): Promise<void> {
  await truncate(
    db,
    'embedding_generations, embedding_jobs, embedding_chunks, embedding_watermarks',
  );
  await dropOrphanedIndexes(db);
}

/** Stores a question and its answer in a user's chat, and returns the answer's id. */
export async function insertAnswer(
  db: Database,
  username: string,
  question: string,
  answer: string,
): Promise<number> {
  const requestId = `request-${Math.random()}`;
  const text = `INSERT INTO chat_messages (username, role, content, request_id, status)
    VALUES ($1, $2, $3, $4, $5) RETURNING id::int AS id`;
  await sql(db, text, [username, 'user', question, requestId, null]);
  const [row] = await sql<{ id: number }>(db, text, [
    username,
    'assistant',
    answer,
    requestId,
    'completed',
  ]);
  return row?.id ?? Number.NaN;
}
