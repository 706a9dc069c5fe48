import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { startGeneration } from '../../lib/search/generations.ts';
import { type Client, createClient } from '../support/client.ts';
import { countJobs, createPostgresWithVectors, listChunks } from '../support/embeddings.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertLog, sql } from '../support/records.ts';
import { activateBuiltIn, forgetGenerations } from '../support/search.ts';

// The sweep adds new records to the active generation.

const PATH = '/api/cron/sweep-stale-runs';

const database = useDatabase(createPostgresWithVectors);
let db: Database;
let client: Client;

beforeAll(async () => {
  db = database.db;
});
beforeEach(async () => {
  await empty(db);
  await forgetGenerations(db);
  client = createClient({ db });
  // A request first, because the sweep skips an unused database.
  await client.get('/api/backups');
});

const sweep = async () => (await client.get(PATH)).body;

describe('the sweep', () => {
  it('enqueues and embeds new records with the built-in model', async () => {
    await activateBuiltIn(db);
    await insertLog(db, { message: 'a new log' });
    expect(await sweep()).toEqual({ swept: 0, run_ids: [] });
    expect(await listChunks(db)).toEqual(['execution_log 1: a new log']);
  });

  it('only enqueues them for a gateway model, which needs somebody’s keys', async () => {
    await startGeneration(db, { id: 'acme/embed-free', dimensions: 8 });
    await sql(db, "UPDATE embedding_generations SET status = 'ACTIVE'");
    await insertLog(db, { message: 'a new log' });
    await sweep();
    expect(await countJobs(db)).toEqual({ pending: 1 });
  });

  it('does not process a generation that is being built', async () => {
    await insertLog(db);
    await startGeneration(db, { id: 'local/hashing-384', dimensions: 384 });
    await sweep();
    expect(await countJobs(db)).toEqual({ pending: 1 });
  });

  it('sweeps runs even when embedding fails, and logs the failure', async () => {
    await sql(db, 'ALTER TABLE embedding_watermarks RENAME TO away');
    try {
      expect(await sweep()).toEqual({ swept: 0, run_ids: [] });
    } finally {
      await sql(db, 'ALTER TABLE away RENAME TO embedding_watermarks');
    }
    expect(client.deps.logged).toContainEqual(
      expect.objectContaining({ level: 'error', message: 'new records were not embedded' }),
    );
  });
});
