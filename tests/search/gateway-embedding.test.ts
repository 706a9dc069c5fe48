import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createEmbedded, type TestDatabase } from '../support/databases.ts';
import { countJobs, listChunks } from '../support/embeddings.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { createObservatoryClient, type ObservatoryClient } from '../support/observatory-client.ts';
import { empty, sql, truncate } from '../support/records.ts';
import { forgetGenerations } from '../support/search.ts';

// process-batch with a model of a stand-in gateway over HTTP, with every kind of failure.

const SERVER_KEY = 'sk-or-v1-key-of-the-server-0001';
const SECOND_KEY = 'sk-or-v1-key-of-the-server-0002';
const MODEL = 'acme/embed-free';

let database: TestDatabase;
let gateway: Gateway;
let client: ObservatoryClient;

beforeAll(async () => {
  [database, gateway] = await Promise.all([createEmbedded(), startGateway()]);
});
afterAll(() => Promise.all([database.close(), gateway.close()]));
beforeEach(async () => {
  client = createClient({ GATEWAY_API_KEYS: `${SERVER_KEY},${SECOND_KEY}` });
  await sql(
    database.db,
    "INSERT INTO execution_logs (message) SELECT 'log ' || n FROM generate_series(1, 8) AS n",
  );
  await client.post('/embeddings/switch-model', { model_id: MODEL });
  gateway.requests.length = 0;
});
afterEach(async () => {
  await empty(database.db);
  await truncate(database.db, 'gateway_connections');
  await forgetGenerations(database.db);
  gateway.always = null;
  gateway.next.clear();
  gateway.routes.clear();
  gateway.refusedKeys.clear();
});

function createClient(environment: Record<string, string>): ObservatoryClient {
  return createObservatoryClient({
    db: database.db,
    environment: { GATEWAY_BASE_URL: gateway.url, ...environment },
  });
}

const process = (request = {}) =>
  client.post('/embeddings/process-batch', { generation_id: 1, ...request });
const connect = () =>
  client.post('/me/gateway/exchange', { code: 'code', code_verifier: 'v'.repeat(43) });
const failures = () =>
  sql<{ source_id: string; attempts: number; error_message: string }>(
    database.db,
    "SELECT source_id, attempts, error_message FROM embedding_jobs WHERE status = 'failed'",
  );

/** Responses by text: a status, a vector for all, or null for the default. */
function answerBy(decide: (inputs: string[]) => number | number[] | null): void {
  gateway.routes.set('/embeddings', (request, response) => {
    const inputs = [request.body?.input].flat().map(String);
    const decision = decide(inputs) ?? [1, 0, 0, 0, 0, 0, 0, 0];
    const status = typeof decision === 'number' ? decision : 200;
    const data = inputs.map((_, index) => ({ index, embedding: decision }));
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(status === 200 ? { data } : { error: { message: 'refused' } }));
  });
}
const has = (text: string) => (inputs: string[]) => inputs.some((input) => input.endsWith(text));

describe('vectors from the gateway', () => {
  it('are requested once per batch and stored with length 1', async () => {
    const { body } = await process();
    expect(body.data).toMatchObject({ succeeded: 8, generation_status: 'READY' });
    expect(gateway.requestsTo('/embeddings').map(({ key }) => key)).toEqual([SERVER_KEY]);
    const [row] = await sql(
      database.db,
      `SELECT count(*)::int AS vectors, min(vector_dims(embedding)) AS dimensions,
         bool_and(abs(vector_norm(embedding) - 1) < 0.001) AS are_units FROM embedding_chunks`,
    );
    expect(row).toEqual({ vectors: 8, dimensions: 8, are_units: true });
  });

  it.each([
    ['have the wrong dimensions', [1, 2, 3]],
    ['have no direction', [0, 0, 0, 0, 0, 0, 0, 0]],
  ])('fail their jobs with a reason if they %s', async (_what, vector) => {
    answerBy((inputs) => (has('log 3')(inputs) ? vector : null));
    const { body } = await process();
    expect(body.data).toMatchObject({ succeeded: 7, failed: 1, generation_status: 'READY' });
    expect(await failures()).toEqual([
      { source_id: '3', attempts: 3, error_message: expect.stringContaining('a vector') },
    ]);
  });
});

describe('a text that the gateway cannot handle', () => {
  it.each([400, 413, 500])(
    'is tried three times and fails only its own job with %i',
    async (status) => {
      let tries = 0;
      answerBy((inputs) => {
        const isRefused = has('log 5')(inputs);
        if (isRefused && inputs.length === 1) tries++;
        return isRefused ? status : null;
      });
      const { body } = await process();
      expect(body.data).toEqual({
        processed: 8,
        succeeded: 7,
        failed: 1,
        batches: 1,
        generation_status: 'READY',
      });
      expect(tries).toBe(3);
      const [failed] = await failures();
      expect(failed).toMatchObject({ source_id: '5', attempts: 3 });
      expect(failed?.error_message).toContain(String(status));
      expect(await listChunks(database.db)).toHaveLength(7);
    },
  );

  it('is processed if the second attempt succeeds', async () => {
    let tries = 0;
    answerBy((inputs) =>
      has('log 5')(inputs) && inputs.length === 1 && tries++ > 0
        ? null
        : has('log 5')(inputs)
          ? 400
          : null,
    );
    expect((await process()).body.data).toMatchObject({ succeeded: 8, failed: 0 });
  });
});

it('a model that accepts no text at all fails each batch after three attempts, not one job at a time', async () => {
  answerBy(() => 404);
  expect((await process()).body.data).toMatchObject({ failed: 8, generation_status: 'FAILED' });
  // Three attempts, each followed by a check whether a harmless text is accepted.
  expect(gateway.requestsTo('/embeddings')).toHaveLength(6);
});

describe('process-batch with a failure that no job caused', () => {
  const untouched = async () => {
    expect(await countJobs(database.db)).toEqual({ pending: 8 });
    const [row] = await sql(
      database.db,
      'SELECT sum(attempts)::int AS attempts FROM embedding_jobs',
    );
    expect(row).toEqual({ attempts: 0 });
  };

  it.each([
    [401, 502, 'GATEWAY_ERROR'],
    [402, 402, 'GATEWAY_OUT_OF_CREDITS'],
    [429, 429, 'GATEWAY_RATE_LIMITED'],
    [503, 502, 'GATEWAY_UNAVAILABLE'],
  ])(
    'answers %i for every server key with %i %s, and counts no attempt',
    async (status, answer, code) => {
      gateway.always = { status };
      for (let n = 0; n < 4; n++) {
        const { status: got, body } = await process();
        expect([got, body.error.code]).toEqual([answer, code]);
      }
      await untouched();
      gateway.always = null;
      expect((await process()).body.data).toMatchObject({ succeeded: 8 });
    },
  );

  it('answers 502 GATEWAY_ERROR when every answer is a web page, and counts no attempt', async () => {
    gateway.always = { body: '<title>Sign in to the network</title>' };
    const { status, body } = await process();
    expect([status, body.error.code]).toEqual([502, 'GATEWAY_ERROR']);
    await untouched();
    gateway.always = null;
    expect((await process()).body.data).toMatchObject({ succeeded: 8 });
  });

  it('fails over to the next server key', async () => {
    gateway.refusedKeys.set(SERVER_KEY, 401);
    expect((await process()).body.data).toMatchObject({ succeeded: 8 });
    expect(gateway.requestsTo('/embeddings').map(({ key }) => key)).toEqual([
      SERVER_KEY,
      SECOND_KEY,
    ]);
  });

  it("uses only the caller's own key, and returns its refusals", async () => {
    await connect();
    gateway.requests.length = 0;
    for (const [refusal, answer, code] of [
      [402, 402, 'GATEWAY_OUT_OF_CREDITS'],
      [429, 429, 'GATEWAY_RATE_LIMITED'],
      [401, 403, 'GATEWAY_KEY_INVALID'],
      [401, 403, 'GATEWAY_KEY_INVALID'],
    ] as const) {
      gateway.refusedKeys.set(gateway.issuedKey, refusal);
      const { status, body } = await process();
      expect([status, body.error.code]).toEqual([answer, code]);
    }
    expect(new Set(gateway.requestsTo('/embeddings').map(({ key }) => key))).toEqual(
      new Set([gateway.issuedKey]),
    );
    await untouched();
  });

  it('answers 503 GATEWAY_NOT_CONFIGURED without any key', async () => {
    client = createClient({});
    const { status, body } = await process();
    expect([status, body.error.code]).toEqual([503, 'GATEWAY_NOT_CONFIGURED']);
    await untouched();
  });

  it('counts what was done before the gateway failed, and leaves the rest pending', async () => {
    let calls = 0;
    answerBy(() => (++calls > 2 ? 503 : null));
    const { status, body } = await process({ batch_size: 2, max_batches: 4 });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ processed: 4, batches: 3, generation_status: 'BUILDING' });
    expect(await countJobs(database.db)).toEqual({ completed: 4, pending: 4 });
    expect((await process()).status).toBe(502);
  });
});
