import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createEmbedded, createPostgres } from '../support/databases.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { useDatabase } from '../support/hooks.ts';
import { createObservatoryClient } from '../support/observatory-client.ts';
import { empty, insertLog, insertResult, insertRun, truncate } from '../support/records.ts';
import { activateBuiltIn, forgetGenerations, insertAnswer } from '../support/search.ts';

// POST /search as deployed, with a stand-in gateway over HTTP.

const database = useDatabase(createEmbedded);
let gateway: Gateway;

beforeAll(async () => {
  gateway = await startGateway();
});
afterAll(() => gateway.close());
afterEach(async () => {
  await empty(database.db);
  await truncate(database.db, 'chat_messages, gateway_connections');
  await forgetGenerations(database.db);
  gateway.requests.length = 0;
  gateway.next.clear();
  gateway.refusedKeys.clear();
  gateway.always = null;
});

const SERVER_KEY = 'sk-or-v1-key-of-the-server-0001';
const client = (environment: Record<string, string> = { GATEWAY_API_KEYS: SERVER_KEY }) =>
  createObservatoryClient({
    db: database.db,
    environment: { GATEWAY_BASE_URL: gateway.url, ...environment },
  });
type TestClient = ReturnType<typeof client>;

const search = (from: TestClient, body: object) => from.post('/search', body);
const log = (message: string, row = {}) => insertLog(database.db, { message, ...row });
const ids = (answer: Awaited<ReturnType<typeof search>>): number[] =>
  answer.body.data.results.map((result: { id: number }) => result.id);

/** Connects Ada's own key. */
const connect = (from: TestClient) =>
  from.post('/me/gateway/exchange', { code: 'code', code_verifier: 'v'.repeat(43) });

/** Builds and activates a generation over HTTP, as an operator does. */
async function activate(from: TestClient, model: string): Promise<number> {
  const started = await from.post('/embeddings/switch-model', { model_id: model });
  const id: number = started.body.data.generation_id;
  const built = await from.post('/embeddings/process-batch', {
    generation_id: id,
    max_batches: 50,
  });
  expect(built.body).toMatchObject({ success: true });
  expect(built.body.data).toMatchObject({ failed: 0, generation_status: 'READY' });
  const activated = await from.post(`/embeddings/activate?generation_id=${id}`, undefined);
  expect(activated.status).toBe(200);
  return id;
}

describe('POST /search', () => {
  it.each([
    [{}, 'query'],
    [{ query: '' }, 'query'],
    [{ query: '   ' }, 'query'],
    [{ query: 'x'.repeat(1_001) }, 'query'],
    [{ query: 7 }, 'query'],
    [{ query: 'x', source_types: ['backup_fix'] }, 'source_types.0'],
    [{ query: 'x', source_types: [] }, 'source_types'],
    [{ query: 'x', limit: 0 }, 'limit'],
    [{ query: 'x', limit: 51 }, 'limit'],
    [{ query: 'x', limit: 1.5 }, 'limit'],
    [{ query: 'x', fts_weight: -1 }, 'fts_weight'],
    [{ query: 'x', semantic_weight: -0.1 }, 'semantic_weight'],
    [{ query: 'x', fts_weight: 0, semantic_weight: 0 }, 'fts_weight'],
  ])('rejects %j with 400, naming %s', async (body, path) => {
    const { status, body: answer } = await search(client(), body);
    expect(status).toBe(400);
    expect(answer.error).toMatchObject({ code: 'VALIDATION_ERROR', details: [{ path }] });
  });

  it('accepts a query of 1,000 characters and a limit of 50', async () => {
    const answer = await search(client(), { query: 'x'.repeat(1_000), limit: 50 });
    expect(answer.status).toBe(200);
  });

  it.each([
    { fts_weight: Number.MIN_VALUE },
    { semantic_weight: Number.MIN_VALUE },
    { fts_weight: Number.MIN_VALUE, semantic_weight: Number.MIN_VALUE },
  ])('accepts the smallest possible weights: %j', async (weights) => {
    const from = client();
    await log('a certificate of the mirror');
    await activate(from, 'local/hashing-384');
    const answer = await search(from, { query: 'certificate', ...weights });
    expect(answer.status).toBe(200);
    expect(answer.body.data.results).toHaveLength(1);
  });

  it('finds everything by default, 10 results, at both paths', async () => {
    const { db } = database;
    const run = await insertRun(db);
    for (let n = 0; n < 12; n++) await log('a certificate of the mirror');
    await insertResult(db, run, 'certificate', { error_message: 'certificate' });
    const answer = await client().post('/observatory/search', { query: 'certificate' });
    expect(answer.body).toMatchObject({ success: true, message: 'Searched' });
    expect(answer.body.data.results).toHaveLength(10);
    expect(answer.body.data.total).toBe(10);
    const types = answer.body.data.results.map((it: { source_type: string }) => it.source_type);
    expect(new Set(types)).toEqual(new Set(['execution_log', 'backup_result']));
  });
});

describe('an answer of POST /search', () => {
  it('has its content and metadata redacted', async () => {
    const token = `ghp_${'a'.repeat(36)}`;
    await log(`clone with ${token} refused`, { repository: `acme/${token}` });
    const answer = await search(client(), { query: 'refused' });
    expect(answer.body.data.results).toHaveLength(1);
    expect(answer.text).not.toContain(token);
  });

  it('contains no investigations of other users', async () => {
    await insertAnswer(database.db, 'bob', 'why?', 'the certificate had expired');
    const own = await insertAnswer(database.db, 'ada', 'why?', 'the certificate had expired');
    expect(ids(await search(client(), { query: 'certificate' }))).toEqual([own]);
  });
});

describe('a search without results', () => {
  it.each([
    ['仓库', 'Chinese'],
    ['ミット', 'Japanese'],
    ['สำรอง', 'Thai'],
    ['arhcived comits', 'misspelt'],
    ['zeppelin', 'spelling'],
    ['-', 'spelling'],
  ])('for %s says that records exist, and why they may be missed', async (query, word) => {
    await log('备份失败：仓库不存在 コミットなし การสำรองข้อมูล archived commits');
    const { data } = (await search(client(), { query })).body;
    expect(data).toMatchObject({ results: [], total: 0 });
    expect(data.nothing_found).toMatch(/^records exist/);
    expect(data.nothing_found).toContain(word);
  });

  it('says that nothing is recorded only if nothing of the kind is', async () => {
    await log('certificate');
    const query = 'zeppelin';
    const answer = await search(client(), { query, source_types: ['backup_result'] });
    expect(answer.body.data.nothing_found).toMatch(/^nothing of this kind/);
    await insertAnswer(database.db, 'bob', 'why?', 'the certificate had expired');
    const others = await search(client(), { query, source_types: ['investigation'] });
    expect(others.body.data.nothing_found).toMatch(/^nothing of this kind/);
    expect((await search(client(), { query: 'certificate' })).body.data.nothing_found).toBeNull();
  });
});

describe('a search without vectors', () => {
  it('uses only full text, degraded, if no generation is active', async () => {
    const id = await log('certificate');
    const answer = await search(client(), { query: 'certificate' });
    expect(ids(answer)).toEqual([id]);
    expect(answer.body.data).toMatchObject({
      generation_id: null,
      model_id: null,
      degraded: true,
      degraded_reason: 'no embedding generation is active',
      degradations: [{ kind: 'no_generation', reason: 'no embedding generation is active' }],
    });
  });

  it('uses only full text, degraded, on a database without the vector extension', async () => {
    const postgres = await createPostgres();
    try {
      const id = await insertLog(postgres.db, { message: 'certificate' });
      const from = createObservatoryClient({ db: postgres.db });
      const answer = await search(from, { query: 'certificate' });
      expect(ids(answer)).toEqual([id]);
      expect(answer.body.data).toMatchObject({
        generation_id: null,
        degraded: true,
        degraded_reason: 'the database has no vector extension',
        degradations: [{ kind: 'no_extension', reason: 'the database has no vector extension' }],
      });
    } finally {
      await postgres.close();
    }
  });

  it('needs no gateway for the built-in model', async () => {
    const id = await log('authentication failed');
    const from = client({});
    const generation = await activate(from, 'local/hashing-384');
    const answer = await search(from, { query: 'autentication' });
    expect(ids(answer)).toEqual([id]);
    expect(answer.body.data).toMatchObject({
      generation_id: generation,
      model_id: 'local/hashing-384',
      degraded: false,
      degraded_reason: null,
    });
    expect(gateway.requestsTo('/embeddings')).toEqual([]);
  });
});

describe('a search with a gateway model', () => {
  it("embeds the query with the caller's keys, and finds records by their vectors", async () => {
    const id = await log('aaaa bbbb');
    await log('cccc dddd');
    const from = client();
    const generation = await activate(from, 'acme/embed-free');
    gateway.requests.length = 0;
    const answer = await search(from, { query: 'bbaa', fts_weight: 0 });
    expect(ids(answer)[0]).toBe(id);
    expect(answer.body.data).toMatchObject({
      generation_id: generation,
      model_id: 'acme/embed-free',
      degraded: false,
    });
    expect(gateway.requestsTo('/embeddings')).toMatchObject([
      { key: SERVER_KEY, body: { model: 'acme/embed-free', input: ['bbaa'] } },
    ]);
  });

  it('queries the database once if it knows the active generation', async () => {
    await log('aaaa bbbb');
    const from = client();
    await activate(from, 'acme/embed-free');
    await search(from, { query: 'aaaa' });
    let asked = 0;
    const { db } = database;
    const counting = {
      ...db,
      query: (...parameters: Parameters<typeof db.query>) => {
        if (parameters[0].name === 'search') asked += 1;
        return db.query(...parameters);
      },
    } as typeof db;
    const other = createObservatoryClient({
      db: counting,
      environment: { GATEWAY_BASE_URL: gateway.url, GATEWAY_API_KEYS: SERVER_KEY },
    });
    await search(other, { query: 'aaaa' });
    const first = asked;
    asked = 0;
    const answer = await search(other, { query: 'aaaa' });
    expect(answer.body.data.degraded).toBe(false);
    // The first search of a process has to find out which model is active.
    expect([first, asked]).toEqual([2, 1]);
  });

  it('redacts the query that it sends', async () => {
    const token = `ghp_${'b'.repeat(36)}`;
    await log('aaaa');
    const from = client();
    await activate(from, 'acme/embed-free');
    await search(from, { query: `aaaa ${token}` });
    expect(JSON.stringify(gateway.requests)).not.toContain(token);
  });

  it.each([
    ['has no server keys', {}, null, 'no key for the model gateway'],
    ['is down', { GATEWAY_API_KEYS: SERVER_KEY }, 503, 'does not answer'],
    ['refuses every server key', { GATEWAY_API_KEYS: SERVER_KEY }, 401, 'failed'],
    ['limits the server key', { GATEWAY_API_KEYS: SERVER_KEY }, 429, 'rate'],
    ['has no credits for the server', { GATEWAY_API_KEYS: SERVER_KEY }, 402, 'credits'],
  ])('degrades to full text when the gateway %s', async (_what, environment, status, reason) => {
    const id = await log('aaaa bbbb');
    await activate(client(), 'acme/embed-free');
    if (status !== null) gateway.always = { status };
    const answer = await search(client(environment), { query: 'bbbb' });
    expect(answer.status).toBe(200);
    expect(ids(answer)).toEqual([id]);
    expect(answer.body.data).toMatchObject({ generation_id: null, model_id: null, degraded: true });
    expect(answer.body.data.degraded_reason).toContain(reason);
  });

  it.each([
    [401, 403, 'GATEWAY_KEY_INVALID'],
    [402, 402, 'GATEWAY_OUT_OF_CREDITS'],
    [429, 429, 'GATEWAY_RATE_LIMITED'],
  ])(
    "passes %i for the user's own key on as %i, without trying the server's",
    async (refusal, status, code) => {
      await log('aaaa bbbb');
      const from = client();
      await activate(from, 'acme/embed-free');
      await connect(from);
      gateway.refusedKeys.set(gateway.issuedKey, refusal);
      gateway.requests.length = 0;
      const answer = await search(from, { query: 'bbbb' });
      expect(answer.status).toBe(status);
      expect(answer.body.error.code).toBe(code);
      expect(gateway.requests.map(({ key }) => key)).not.toContain(SERVER_KEY);
    },
  );
});

describe('reranking', () => {
  const rerank = { rerank_model_id: 'acme/rerank-free' };

  it('reorders the best 50 results and says so', async () => {
    for (let n = 0; n < 70; n++) await log('a certificate');
    const answer = await search(client(), { query: 'certificate', limit: 3, ...rerank });
    expect(answer.body.data.total).toBe(3);
    const [request] = gateway.requestsTo('/rerank');
    expect(request?.body).toMatchObject({ model: 'acme/rerank-free', top_n: 50 });
    expect(request?.body?.documents).toHaveLength(50);
    for (const result of answer.body.data.results) expect(result.reranked).toBe(true);
  });

  it('uses the order and the scores of the model', async () => {
    const second = await log('alpha once');
    const first = await log('alpha once more');
    gateway.script('/rerank', {
      body: {
        results: [
          { index: 1, relevance_score: 0.9 },
          { index: 0, relevance_score: 0.2 },
        ],
      },
    });
    const plain = ids(await search(client(), { query: 'alpha' }));
    const answer = await search(client(), { query: 'alpha', ...rerank });
    expect(ids(answer)).toEqual(plain.toReversed());
    expect(ids(answer).toSorted()).toEqual([second, first].toSorted());
    expect(answer.body.data.results.map((it: { score: number }) => it.score)).toEqual([0.9, 0.2]);
  });

  it.each([['acme/rerank-paid'], ['acme/chat-free'], ['nobody/nothing']])(
    'rejects %s with 400 MODEL_NOT_ALLOWED',
    async (model) => {
      const answer = await search(client(), { query: 'x', rerank_model_id: model });
      expect([answer.status, answer.body.error.code]).toEqual([400, 'MODEL_NOT_ALLOWED']);
    },
  );

  it('is 503 MODEL_REGISTRY_UNAVAILABLE when the models cannot be read', async () => {
    gateway.always = { status: 503 };
    const answer = await search(client(), { query: 'x', ...rerank });
    expect([answer.status, answer.body.error.code]).toEqual([503, 'MODEL_REGISTRY_UNAVAILABLE']);
  });

  it.each([
    ['fails', { status: 500 }],
    ['cuts the connection', { instead: 'reset' as const }],
    ['answers nonsense', { body: { results: [{ index: 99, relevance_score: 1 }] } }],
    ['is out of credits for the server', { status: 402 }],
  ])('returns the results unranked and degraded when the gateway %s', async (_what, scripted) => {
    const id = await log('alpha');
    gateway.script('/rerank', scripted);
    const answer = await search(client(), { query: 'alpha', ...rerank });
    expect(answer.status).toBe(200);
    expect(ids(answer)).toEqual([id]);
    expect(answer.body.data.results[0].reranked).toBe(false);
    expect(answer.body.data.degraded).toBe(true);
    expect(answer.body.data.degraded_reason).toContain('reranking failed');
  });

  it.each([
    [401, 403, 'GATEWAY_KEY_INVALID'],
    [402, 402, 'GATEWAY_OUT_OF_CREDITS'],
    [429, 429, 'GATEWAY_RATE_LIMITED'],
  ])("passes %i for the user's own key on as %i", async (refusal, status, code) => {
    await log('alpha');
    const from = client();
    await connect(from);
    gateway.refusedKeys.set(gateway.issuedKey, refusal);
    const answer = await search(from, { query: 'alpha', ...rerank });
    expect([answer.status, answer.body.error.code]).toEqual([status, code]);
  });

  it('sends nothing if nothing was found', async () => {
    const answer = await search(client(), { query: 'zeppelin', ...rerank });
    expect(answer.body.data.results).toEqual([]);
    expect(gateway.requestsTo('/rerank')).toEqual([]);
  });
});

it('a search keeps using the active generation while another is built', async () => {
  const id = await log('authentication failed');
  const generation = await activateBuiltIn(database.db);
  const from = client();
  await from.post('/embeddings/switch-model', { model_id: 'acme/embed-free' });
  const answer = await search(from, { query: 'autentication' });
  expect(ids(answer)).toEqual([id]);
  expect(answer.body.data.generation_id).toBe(generation);
});
