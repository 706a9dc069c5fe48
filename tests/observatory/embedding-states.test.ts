import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createEmbedded, type TestDatabase } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { createObservatoryClient, type ObservatoryClient } from '../support/observatory-client.ts';
import { empty, insertLog, insertResult, insertRun, sql, truncate } from '../support/records.ts';
import { forgetGenerations, insertAnswer } from '../support/search.ts';

// What each request does in each state of a generation, over HTTP and on the embedded database.

const MODEL = 'local/hashing-384';
const REMOTE = 'acme/embed-free';

let database: TestDatabase;
let gateway: Gateway;
let client: ObservatoryClient;

beforeAll(async () => {
  [database, gateway] = await Promise.all([createEmbedded(), startGateway()]);
});
afterAll(() => Promise.all([database.close(), gateway.close()]));
beforeEach(async () => {
  await empty(database.db);
  await truncate(database.db, 'chat_messages');
  await forgetGenerations(database.db);
  gateway.always = null;
  gateway.next.clear();
  client = createObservatoryClient({
    db: database.db,
    environment: { GATEWAY_BASE_URL: gateway.url, GATEWAY_API_KEYS: 'sk-key-of-the-server' },
  });
});

const switchModel = (model_id = MODEL) => client.post('/embeddings/switch-model', { model_id });
const process = (generation_id: number, sizes = {}) =>
  client.post('/embeddings/process-batch', { generation_id, max_batches: 50, ...sizes });
const activate = (id: number) => client.post(`/embeddings/activate?generation_id=${id}`, undefined);
const prune = () => client.post('/embeddings/prune', undefined);
const readStatus = async () => (await client.get('/embeddings/status')).body.data;

const states = async () =>
  (
    await sql<{ state: string }>(
      database.db,
      `SELECT id || ' ' || status AS state FROM embedding_generations ORDER BY id`,
    )
  ).map(({ state }) => state);

/** Builds a generation of the existing logs until it is READY, and returns its id. */
async function build(model = MODEL): Promise<number> {
  const id: number = (await switchModel(model)).body.data.generation_id;
  await process(id);
  return id;
}

const logs = async (count: number) => {
  for (let n = 1; n <= count; n++) await insertLog(database.db, { message: `log ${n}` });
};

describe('POST /embeddings/switch-model', () => {
  it('creates a BUILDING generation with a job for every record, and returns their number', async () => {
    const run = await insertRun(database.db);
    await logs(2);
    await insertResult(database.db, run, 'owner/name');
    await insertAnswer(database.db, 'ada', 'why?', 'because');
    const { status, body } = await switchModel();
    expect(status).toBe(200);
    expect(body.data).toEqual({
      generation_id: 1,
      model_id: MODEL,
      status: 'BUILDING',
      total_jobs_enqueued: 4,
      message: expect.stringContaining('4 jobs'),
    });
    expect(
      await sql(
        database.db,
        'SELECT source_type, source_id, status FROM embedding_jobs ORDER BY source_type, source_id',
      ),
    ).toEqual([
      { source_type: 'backup_result', source_id: '1', status: 'pending' },
      { source_type: 'execution_log', source_id: '1', status: 'pending' },
      { source_type: 'execution_log', source_id: '2', status: 'pending' },
      { source_type: 'investigation', source_id: '2', status: 'pending' },
    ]);
  });

  it('takes the dimensions of a gateway model from the registry', async () => {
    await switchModel(REMOTE);
    const [row] = await sql(database.db, 'SELECT model_id, dimensions FROM embedding_generations');
    expect(row).toEqual({ model_id: REMOTE, dimensions: 8 });
  });

  it.each(['nobody/nothing', 'acme/embed-paid', 'acme/chat-free'])(
    'rejects %s, which is not a free embedding model',
    async (model) => {
      const { status, body } = await switchModel(model);
      expect([status, body.error.code]).toEqual([400, 'MODEL_NOT_ALLOWED']);
      expect(await states()).toEqual([]);
    },
  );

  it('answers 503 for a gateway model while the list of models cannot be read', async () => {
    gateway.always = { status: 500 };
    const { status, body } = await switchModel(REMOTE);
    expect([status, body.error.code]).toEqual([503, 'MODEL_REGISTRY_UNAVAILABLE']);
    expect((await switchModel()).status).toBe(200);
  });

  it('answers 409 while another generation is BUILDING', async () => {
    await switchModel();
    const { status, body } = await switchModel();
    expect([status, body.error.code]).toEqual([409, 'CONFLICT']);
    expect(await states()).toEqual(['1 BUILDING']);
  });
});

describe('POST /embeddings/process-batch for a BUILDING generation', () => {
  it('makes it READY with its last job', async () => {
    await logs(3);
    await switchModel();
    const first = await process(1, { batch_size: 2, max_batches: 1 });
    expect(first.body.data).toEqual({
      processed: 2,
      succeeded: 2,
      failed: 0,
      batches: 1,
      generation_status: 'BUILDING',
    });
    const last = await process(1, { batch_size: 2, max_batches: 1 });
    expect(last.body.data).toMatchObject({ processed: 1, generation_status: 'READY' });
    expect(await states()).toEqual(['1 READY']);
  });

  it('makes it READY even if some of its jobs failed', async () => {
    await logs(2);
    await switchModel(REMOTE);
    gateway.routes.set('/embeddings', (request, response) => {
      const inputs = [request.body?.input].flat().map(String);
      const refused = inputs.some((input) => input.includes('log 1'));
      response.writeHead(refused ? 400 : 200, { 'Content-Type': 'application/json' });
      const data = inputs.map((_, index) => ({ index, embedding: [1, 0, 0, 0, 0, 0, 0, 0] }));
      response.end(JSON.stringify(refused ? { error: { message: 'too long' } } : { data }));
    });
    const { body } = await process(1);
    gateway.routes.clear();
    expect(body.data).toEqual({
      processed: 2,
      succeeded: 1,
      failed: 1,
      batches: 1,
      generation_status: 'READY',
    });
    expect(
      await sql(
        database.db,
        "SELECT source_id, attempts FROM embedding_jobs WHERE status = 'failed'",
      ),
    ).toEqual([{ source_id: '1', attempts: 3 }]);
  });

  it('makes it FAILED when every job failed', async () => {
    await logs(2);
    await switchModel(REMOTE);
    gateway.always = { status: 400 };
    const { body } = await process(1);
    expect(body.data).toMatchObject({ processed: 2, failed: 2, generation_status: 'FAILED' });
    expect(await states()).toEqual(['1 FAILED']);
  });

  it('answers 400 if the generation does not exist', async () => {
    const { status, body } = await process(7);
    expect([status, body.error.code]).toEqual([400, 'BAD_REQUEST']);
  });
});

describe('POST /embeddings/activate for a BUILDING generation', () => {
  it('activates one without jobs, made from an empty database', async () => {
    expect((await switchModel()).body.data.total_jobs_enqueued).toBe(0);
    const { status, body } = await activate(1);
    expect(status).toBe(200);
    expect(body.data).toEqual({
      generation_id: 1,
      status: 'ACTIVE',
      retired_generation_ids: [],
    });
  });

  it('activates one whose jobs are all finished', async () => {
    await logs(1);
    await build();
    await sql(database.db, "UPDATE embedding_generations SET status = 'BUILDING'");
    expect((await activate(1)).status).toBe(200);
    expect(await states()).toEqual(['1 ACTIVE']);
  });

  it('answers 409 with pending jobs, and when every job failed', async () => {
    await logs(1);
    await switchModel();
    expect((await activate(1)).status).toBe(409);
    await sql(database.db, "UPDATE embedding_jobs SET status = 'failed'");
    const { status, body } = await activate(1);
    expect([status, body.error.code]).toEqual([409, 'CONFLICT']);
    expect(await states()).toEqual(['1 BUILDING']);
  });
});

describe('POST /embeddings/activate for a READY generation', () => {
  it('makes it ACTIVE, and retires the previous one, which keeps its vectors', async () => {
    await logs(2);
    await build();
    await activate(1);
    await build();
    const { body } = await activate(2);
    expect(body.data.retired_generation_ids).toEqual([1]);
    expect(await states()).toEqual(['1 RETIRED', '2 ACTIVE']);
    expect(
      await sql(
        database.db,
        `SELECT generation_id, count(embedding)::int AS vectors FROM embedding_chunks
         GROUP BY 1 ORDER BY 1`,
      ),
    ).toEqual([
      { generation_id: 1, vectors: 2 },
      { generation_id: 2, vectors: 2 },
    ]);
  });
});

describe('POST /embeddings/activate for the ACTIVE generation', () => {
  it('changes nothing', async () => {
    await logs(1);
    await build();
    await activate(1);
    const before = await sql(database.db, 'SELECT * FROM embedding_generations');
    const { status, body } = await activate(1);
    expect([status, body.data.retired_generation_ids]).toEqual([200, []]);
    expect(await sql(database.db, 'SELECT * FROM embedding_generations')).toEqual(before);
  });
});

describe('RETIRED and FAILED generations', () => {
  it('cannot be activated (409), and unknown ones are not found (404)', async () => {
    for (const status of ['RETIRED', 'FAILED']) {
      await sql(
        database.db,
        `INSERT INTO embedding_generations (model_id, dimensions, status) VALUES ('m', 3, '${status}')`,
      );
    }
    expect((await activate(1)).status).toBe(409);
    expect((await activate(2)).status).toBe(409);
    for (const id of [3, 2 ** 40]) expect((await activate(id)).status).toBe(404);
    expect(await states()).toEqual(['1 RETIRED', '2 FAILED']);
  });

  it('are deleted by POST /embeddings/prune with all their data, and other generations are kept', async () => {
    await logs(1);
    for (let id = 1; id <= 4; id++) await build();
    await switchModel();
    await sql(
      database.db,
      `UPDATE embedding_generations SET status = CASE id
         WHEN 1 THEN 'RETIRED' WHEN 2 THEN 'FAILED' WHEN 3 THEN 'ACTIVE' ELSE status END`,
    );
    const { status, body } = await prune();
    expect(status).toBe(200);
    expect(body.data).toEqual({ deleted_generations: 2, deleted_jobs: 2 });
    expect(await states()).toEqual(['3 ACTIVE', '4 READY', '5 BUILDING']);
    const left = `SELECT DISTINCT generation_id AS id FROM`;
    const ids = async (table: string) =>
      (await sql<{ id: number }>(database.db, `${left} ${table} ORDER BY 1`)).map(({ id }) => id);
    expect(await ids('embedding_jobs')).toEqual([3, 4, 5]);
    expect(await ids('embedding_chunks')).toEqual([3, 4]);
    expect(await ids('embedding_watermarks')).toEqual([3, 4, 5]);
    expect(
      await sql(
        database.db,
        `SELECT indexname FROM pg_indexes WHERE indexname LIKE '%hnsw%' ORDER BY 1`,
      ),
    ).toEqual([{ indexname: 'embedding_chunks_hnsw_3' }, { indexname: 'embedding_chunks_hnsw_4' }]);
    expect((await prune()).body.data).toEqual({ deleted_generations: 0, deleted_jobs: 0 });
  });

  it('are not processed by process-batch', async () => {
    await logs(2);
    await switchModel();
    await sql(database.db, "UPDATE embedding_generations SET status = 'RETIRED'");
    expect((await process(1)).body.data).toEqual({
      processed: 0,
      succeeded: 0,
      failed: 0,
      batches: 0,
      generation_status: 'RETIRED',
    });
  });
});

describe('GET /embeddings/status', () => {
  const nothing = { total: 0, processed: 0, failed: 0, percentage: 0 };

  it('is empty without a generation', async () => {
    expect(await readStatus()).toEqual({
      active_generation: null,
      progress: nothing,
      pending_jobs: 0,
      failed_jobs: 0,
    });
  });

  it('returns the active generation, and the progress of the one being built', async () => {
    await logs(3);
    await build();
    await activate(1);
    const active = { id: 1, model_id: MODEL, status: 'ACTIVE', dimensions: 384, chunk_count: 3 };
    expect(await readStatus()).toEqual({
      active_generation: active,
      progress: { total: 3, processed: 3, failed: 0, percentage: 100 },
      pending_jobs: 0,
      failed_jobs: 0,
    });
    await switchModel();
    await process(2, { batch_size: 1, max_batches: 1 });
    await sql(database.db, "UPDATE embedding_jobs SET status = 'failed' WHERE id = 5");
    expect(await readStatus()).toEqual({
      active_generation: active,
      progress: { total: 3, processed: 2, failed: 1, percentage: 66.6 },
      pending_jobs: 1,
      failed_jobs: 1,
    });
  });

  it('reports 100 percent for a generation without jobs', async () => {
    await switchModel();
    expect((await readStatus()).progress).toEqual({ ...nothing, percentage: 100 });
  });
});

describe('GET /embeddings/generations', () => {
  const list = async () => (await client.get('/embeddings/generations')).body.data;

  it('lists the generations, newest first, with the reason why jobs failed', async () => {
    expect(await list()).toEqual([]);
    await logs(2);
    await build();
    await activate(1);
    await switchModel();
    await sql(
      database.db,
      `UPDATE embedding_jobs SET status = 'failed', error_message = 'the password=hunter2hunter2 is wrong'
       WHERE generation_id = 2 AND id = (SELECT min(id) FROM embedding_jobs WHERE generation_id = 2)`,
    );
    const common = { model_id: MODEL, dimensions: 384, created_at: expect.any(String) };
    const [building, active] = await list();
    expect(building).toEqual({
      ...common,
      id: 2,
      status: 'BUILDING',
      activated_at: null,
      failed_jobs: 1,
      failure: 'the password=[redacted] is wrong',
    });
    expect(active).toEqual({
      ...common,
      id: 1,
      status: 'ACTIVE',
      activated_at: expect.any(String),
      failed_jobs: 0,
      failure: null,
    });
  });
});
