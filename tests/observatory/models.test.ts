import { beforeEach, describe, expect, it } from 'vitest';
import { type Gateway as StandIn, startGateway } from '../support/gateway.ts';
import { useDatabase } from '../support/hooks.ts';
import { createObservatoryClient } from '../support/observatory-client.ts';
import { sql } from '../support/records.ts';

let standIn: StandIn;
const database = useDatabase();
beforeEach(async () => {
  standIn = await startGateway();
  return () => standIn.close();
});

const createClient = () =>
  createObservatoryClient({ db: database.db, environment: { GATEWAY_BASE_URL: standIn.url } });

const local = {
  id: 'local/hashing-384',
  name: expect.stringMatching(/lexical, not semantic/),
  context_length: 8192,
  dimensions: 384,
  is_free: true,
};

describe('GET /api/embedding-models', () => {
  it('lists the built-in model and the free models of the gateway, unwrapped', async () => {
    const { status, body } = await createClient().get('/api/embedding-models');
    expect(status).toBe(200);
    expect(body).toEqual({
      models: [
        local,
        {
          id: 'acme/embed-free',
          name: 'Acme Embed',
          context_length: 8192,
          dimensions: 8,
          is_free: true,
        },
      ],
      cached: false,
      active_model_id: null,
    });
  });

  it('says whether the list is cached', async () => {
    const { get } = createClient();
    await get('/api/embedding-models');
    expect((await get('/api/embedding-models')).body.cached).toBe(true);
  });

  it('lists the built-in model while the gateway is down', async () => {
    standIn.always = { status: 500 };
    const { status, body } = await createClient().get('/api/embedding-models');
    expect([status, body.models]).toEqual([200, [local]]);
  });

  it('names the model of the active generation', async () => {
    await sql(
      database.db,
      `INSERT INTO embedding_generations (model_id, dimensions, status) VALUES
       ('old/model', 4, 'RETIRED'), ('local/hashing-384', 384, 'ACTIVE'), ('new/model', 4, 'BUILDING')`,
    );
    const { body } = await createClient().get('/api/embedding-models');
    expect(body.active_model_id).toBe('local/hashing-384');
  });

  it("finds dimensions with the caller's own key", async () => {
    standIn.hidesDimensions = true;
    const { get, post } = createClient();
    expect((await get('/api/embedding-models')).body.models).toEqual([local]);
    await post('/me/gateway/exchange', { code: 'x', code_verifier: 'v'.repeat(43) });
    expect((await get('/api/embedding-models')).body.models).toMatchObject([
      local,
      { id: 'acme/embed-free', dimensions: 8 },
    ]);
    expect(standIn.requestsTo('/embeddings').map(({ key }) => key)).toEqual([standIn.issuedKey]);
  });
});

describe('GET /api/reranking-models', () => {
  it('lists the free reranking models of the gateway, unwrapped', async () => {
    const { status, body } = await createClient().get('/observatory/api/reranking-models');
    expect(status).toBe(200);
    expect(body).toEqual({
      models: [
        { id: 'acme/rerank-free', name: 'Acme Rerank', context_length: 4096, is_free: true },
      ],
      cached: false,
    });
  });

  it('answers 503 MODEL_REGISTRY_UNAVAILABLE while the gateway is down', async () => {
    standIn.always = { status: 500 };
    const { status, body, headers } = await createClient().get('/api/reranking-models');
    expect([status, body.error.code]).toEqual([503, 'MODEL_REGISTRY_UNAVAILABLE']);
    expect(headers.has('retry-after')).toBe(true);
  });
});
