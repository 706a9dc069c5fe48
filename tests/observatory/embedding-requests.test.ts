import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { createPostgresWithVectors } from '../support/embeddings.ts';
import { useDatabase } from '../support/hooks.ts';
import { createObservatoryClient, type ObservatoryClient } from '../support/observatory-client.ts';
import { insertLog, sql } from '../support/records.ts';

const actions = [
  ['/embeddings/switch-model', { model_id: 'local/hashing-384' }],
  ['/embeddings/process-batch', { generation_id: 1 }],
  ['/embeddings/activate?generation_id=1', undefined],
  ['/embeddings/prune', undefined],
] as const;

const database = useDatabase(createPostgresWithVectors);
let client: ObservatoryClient;

beforeAll(async () => {
  client = createObservatoryClient({ db: database.db });
});

describe('the embeddings endpoints', () => {
  it.each([...actions, ['/embeddings/status', undefined] as const])(
    'require a token for %s, with and without the prefix',
    async (path, body) => {
      const method = path.endsWith('status') ? 'GET' : 'POST';
      for (const prefix of ['', '/observatory']) {
        const request = { token: null, ...(body ? { json: body } : {}) };
        expect((await client.send(method, `${prefix}${path}`, request)).status).toBe(401);
      }
    },
  );

  it.each([
    ['/embeddings/switch-model', {}, 'model_id'],
    ['/embeddings/switch-model', { model_id: '' }, 'model_id'],
    ['/embeddings/switch-model', { model_id: 7 }, 'model_id'],
    ['/embeddings/process-batch', {}, 'generation_id'],
    ['/embeddings/process-batch', { generation_id: '1' }, 'generation_id'],
    ['/embeddings/process-batch', { generation_id: 1, batch_size: 0 }, 'batch_size'],
    ['/embeddings/process-batch', { generation_id: 1, batch_size: 501 }, 'batch_size'],
    ['/embeddings/process-batch', { generation_id: 1, batch_size: 1.5 }, 'batch_size'],
    ['/embeddings/process-batch', { generation_id: 1, max_batches: 0 }, 'max_batches'],
    ['/embeddings/process-batch', { generation_id: 1, max_batches: 51 }, 'max_batches'],
    ['/embeddings/activate', undefined, 'generation_id'],
    ['/embeddings/activate?generation_id=x', undefined, 'generation_id'],
  ])('answer 400 to %s %j and name %s', async (path, body, field) => {
    const { status, body: answer } = await client.post(path, body);
    expect([status, answer.error.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(answer.error.details).toEqual([expect.objectContaining({ path: field })]);
  });

  it('process 50 jobs by default, and up to 50 times 500', async () => {
    await sql(
      database.db,
      "INSERT INTO execution_logs (message) SELECT 'log ' || n FROM generate_series(1, 60) AS n",
    );
    await client.post('/embeddings/switch-model', { model_id: 'local/hashing-384' });
    const once = await client.post('/embeddings/process-batch', { generation_id: 1 });
    expect(once.body.data).toMatchObject({ processed: 50, batches: 1 });
    const most = { generation_id: 1, batch_size: 500, max_batches: 50 };
    const rest = await client.post('/observatory/embeddings/process-batch', most);
    expect(rest.body.data).toMatchObject({ processed: 10, batches: 1, generation_status: 'READY' });
  });

  it('stop processing after EMBEDDING_BATCH_TIME_BUDGET_SECONDS', async () => {
    await insertLog(database.db, { message: 'one more' });
    await insertLog(database.db, { message: 'two more' });
    const hurried = createObservatoryClient({
      db: {
        ...database.db,
        // Each statement takes three of the five seconds of the budget.
        query(statement, values, options) {
          hurried.deps.clock.advance(3_000);
          return database.db.query(statement, values, options);
        },
      },
      environment: { EMBEDDING_BATCH_TIME_BUDGET_SECONDS: '5' },
    });
    await hurried.post('/embeddings/switch-model', { model_id: 'local/hashing-384' });
    const request = { generation_id: 2, batch_size: 1, max_batches: 50 };
    const { body } = await hurried.post('/embeddings/process-batch', request);
    expect(body.data).toMatchObject({ processed: 1, batches: 1, generation_status: 'BUILDING' });
  });
});

describe('without the vector extension', () => {
  let plain: TestDatabase;
  let without: ObservatoryClient;
  beforeAll(async () => {
    plain = await createPostgres();
    without = createObservatoryClient({ db: plain.db });
  });
  afterAll(() => plain.close());

  it.each(actions)('POST %s answers 503 and says why', async (path, body) => {
    const { status, body: answer } = await without.post(path, body);
    expect(status).toBe(503);
    expect(answer.error).toEqual({
      code: 'SERVICE_UNAVAILABLE',
      message:
        'embeddings are not available: the vector extension is not installed on this database server',
    });
  });

  it('GET /embeddings/status answers that there is no generation', async () => {
    const { status, body } = await without.get('/embeddings/status');
    expect([status, body.data.active_generation]).toEqual([200, null]);
  });
});
