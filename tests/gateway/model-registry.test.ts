import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Environment } from '../../lib/config/read.ts';
import { createGateway } from '../../lib/gateway/gateway.ts';
import { createTestDeps } from '../support/deps.ts';
import { type Gateway as StandIn, startGateway } from '../support/gateway.ts';
import { hasRedisServer } from '../support/redis-server.ts';
import { startUpstashRest, type UpstashRest } from '../support/upstash-rest.ts';

const builtIn = { id: 'local/x', name: 'X', context_length: 1, dimensions: 2, is_free: true };
const MINUTE = 60_000;

let standIn: StandIn;
beforeEach(async () => {
  standIn = await startGateway();
  return () => standIn.close();
});

function createParts(environment: Environment = {}) {
  const deps = createTestDeps({
    environment: {
      GATEWAY_BASE_URL: standIn.url,
      GATEWAY_API_KEYS: 'sk-server-key-01',
      ...environment,
    },
  });
  const { registry, credentials } = createGateway(deps, [builtIn]);
  return { deps, registry, keys: () => credentials.resolveKeys(null) };
}

const ids = ({ models }: { models: { id: string }[] }) => models.map(({ id }) => id);

describe('the model registry', () => {
  it('lists the free models of each kind, and the built-in embedding models first', async () => {
    const { registry, keys } = createParts();
    expect(await registry.listEmbeddingModels(keys)).toEqual({
      models: [
        builtIn,
        {
          id: 'acme/embed-free',
          name: 'Acme Embed',
          context_length: 8192,
          dimensions: 8,
          is_free: true,
        },
      ],
      cached: false,
    });
    expect(await registry.listRerankingModels()).toEqual({
      models: [
        { id: 'acme/rerank-free', name: 'Acme Rerank', context_length: 4096, is_free: true },
      ],
      cached: true,
    });
    expect(ids(await registry.listChatModels())).toEqual(['acme/chat-free']);
  });

  it.each<[string, Record<string, unknown> | undefined, boolean]>([
    ['all prices zero', { prompt: '0', completion: '0', request: '0' }, true],
    ['prices as numbers', { prompt: 0, completion: 0 }, true],
    ['zero decimals', { prompt: '0.000', completion: '0' }, true],
    ['one price above zero', { prompt: '0', completion: '0', request: '0.01' }, false],
    ['a variable price', { prompt: '-1', completion: '-1' }, false],
    ['a price that is not a number', { prompt: 'free', completion: '0' }, false],
    ['an empty price', { prompt: '', completion: '0' }, false],
    ['no price', {}, false],
    ['no prices at all', undefined, false],
  ])('given %s: %j, decides that a model is free: %s', async (_case, pricing, isFree) => {
    standIn.models = [{ id: 'some/model', ...(pricing ? { pricing } : {}) }];
    const { registry } = createParts();
    expect(ids(await registry.listChatModels())).toEqual(isFree ? ['some/model'] : []);
  });

  it('counts a model listed by /embeddings/models only as an embedding model', async () => {
    standIn.models.push({ id: 'acme/embed-free', pricing: { prompt: '0' } });
    const { registry } = createParts();
    expect(ids(await registry.listChatModels())).toEqual(['acme/chat-free']);
  });

  it('skips malformed entries and keeps the others', async () => {
    const free = { prompt: '0', completion: '0' };
    const hostile: unknown[] = [
      null,
      'text',
      {},
      { id: 7, pricing: free },
      { id: 'x'.repeat(500), pricing: free },
      { id: 'acme/nul\0', pricing: free },
      { id: 'acme/two words', pricing: free },
      { id: 'acme/\u202egnp', pricing: free },
      { id: 'acme/half\ud800', pricing: free },
      { id: 'acme/nameless', pricing: free, name: null, context_length: null },
      { id: 'acme/nameless', name: 'again', pricing: free },
    ];
    standIn.script('/models', { body: { data: hostile } });
    const { registry } = createParts();
    expect((await registry.listChatModels()).models).toEqual([
      { id: 'acme/nameless', name: 'acme/nameless', context_length: 0, is_free: true },
    ]);
  });

  it('shortens names to one line of text', async () => {
    const pricing = { prompt: '0' };
    standIn.models = [
      { id: 'acme/a', name: 'one\0 \u202etwo\r\nthree', pricing },
      { id: 'acme/b', name: 'n'.repeat(10_000), pricing },
      { id: 'acme/c', name: '\u001b', pricing },
    ];
    const { registry } = createParts();
    const { models } = await registry.listChatModels();
    expect(models.map(({ name }) => name)).toEqual([
      'one two three',
      `${'n'.repeat(399)}…`,
      'acme/c',
    ]);
  });

  it('works without a list of embedding models', async () => {
    standIn.script('/embeddings/models', { status: 404 });
    const { registry, keys } = createParts();
    expect(ids(await registry.listEmbeddingModels(keys))).toEqual(['local/x']);
    expect(ids(await registry.listChatModels())).toEqual(['acme/chat-free']);
  });

  it.each([401, 402, 429])(
    'asks without a key when every key is refused with %i',
    async (status) => {
      standIn.refusedKeys.set('sk-server-key-01', status);
      const { registry } = createParts();
      expect(ids(await registry.listChatModels())).toEqual(['acme/chat-free']);
      expect(standIn.requestsTo('/models').map(({ key }) => key)).toEqual([
        'sk-server-key-01',
        null,
      ]);
    },
  );
});

describe('the cache of the model registry', () => {
  it('serves its list for 10 minutes, then fetches it again', async () => {
    const { registry, deps } = createParts();
    expect((await registry.listChatModels()).cached).toBe(false);
    deps.clock.advance(10 * MINUTE - 1);
    expect((await registry.listChatModels()).cached).toBe(true);
    deps.clock.advance(1);
    expect((await registry.listChatModels()).cached).toBe(false);
    expect(standIn.requestsTo('/models')).toHaveLength(2);
  });

  it('fetches the list once for simultaneous callers', async () => {
    const { registry } = createParts();
    await Promise.all(Array.from({ length: 20 }, () => registry.listChatModels()));
    expect(standIn.requestsTo('/models')).toHaveLength(1);
  });

  it('serves a stale list while the gateway is down, and asks again within a minute', async () => {
    const { registry, deps } = createParts();
    await registry.listChatModels();
    deps.clock.advance(60 * MINUTE);
    standIn.always = { status: 503 };
    for (let n = 0; n < 3; n += 1) {
      const list = await registry.listChatModels();
      expect([ids(list), list.cached]).toEqual([['acme/chat-free'], true]);
    }
    expect(standIn.requestsTo('/models')).toHaveLength(2);
    standIn.always = null;
    deps.clock.advance(MINUTE);
    expect((await registry.listChatModels()).cached).toBe(false);
  });
});

describe('an unreadable gateway without a cached list', () => {
  it.each([
    ['down', { status: 500 }],
    ['cut off', { instead: 'reset' }],
    ['not a gateway', { body: '<html>' }],
    ['another API', { body: { models: [] } }],
  ] as const)(
    'causes MODEL_REGISTRY_UNAVAILABLE for gateway models while it is %s',
    async (_case, answer) => {
      standIn.always = answer;
      const { registry, keys } = createParts();
      const unavailable = { code: 'MODEL_REGISTRY_UNAVAILABLE' };
      await expect(registry.listRerankingModels()).rejects.toMatchObject(unavailable);
      await expect(registry.requireChatModel('acme/chat-free')).rejects.toMatchObject(unavailable);
      await expect(registry.requireRerankingModel('x')).rejects.toMatchObject(unavailable);
      await expect(registry.requireEmbeddingModel('x', keys)).rejects.toMatchObject(unavailable);
      standIn.always = null;
      expect(ids(await registry.listChatModels())).toEqual(['acme/chat-free']);
    },
  );

  it('still allows the built-in models and the default chat model', async () => {
    standIn.always = { status: 500 };
    const { registry, keys } = createParts({ GATEWAY_MODEL: 'acme/chat-paid' });
    expect(await registry.listEmbeddingModels(keys)).toEqual({ models: [builtIn], cached: false });
    expect(await registry.requireEmbeddingModel('local/x', keys)).toEqual(builtIn);
    await registry.requireChatModel('acme/chat-paid');
  });
});

describe('a model requested by name', () => {
  it.each([['acme/chat-free', 'acme/rerank-free', 'acme/embed-free']])(
    'is found if it is free and of the requested kind',
    async (chat, reranking, embedding) => {
      const { registry, keys } = createParts();
      await registry.requireChatModel(chat);
      expect((await registry.requireRerankingModel(reranking)).id).toBe(reranking);
      expect(await registry.requireEmbeddingModel(embedding, keys)).toMatchObject({
        dimensions: 8,
      });
    },
  );

  it.each([
    ['acme/chat-paid', 'acme/rerank-paid', 'acme/embed-paid'],
    ['acme/rerank-free', 'acme/embed-free', 'acme/chat-free'],
    ['nobody/knows', 'nobody/knows', 'nobody/knows'],
  ])(
    'is MODEL_NOT_ALLOWED if it is paid, unknown or of another kind',
    async (chat, reranking, embedding) => {
      const { registry, keys } = createParts();
      const notAllowed = { code: 'MODEL_NOT_ALLOWED' };
      await expect(registry.requireChatModel(chat)).rejects.toMatchObject(notAllowed);
      await expect(registry.requireRerankingModel(reranking)).rejects.toMatchObject(notAllowed);
      await expect(registry.requireEmbeddingModel(embedding, keys)).rejects.toMatchObject(
        notAllowed,
      );
    },
  );
});

describe('dimensions missing from the list', () => {
  beforeEach(() => {
    standIn.hidesDimensions = true;
  });

  it('are found once, by embedding one word, and outlive the list', async () => {
    const { registry, keys, deps } = createParts();
    for (let n = 0; n < 2; n += 1) {
      const { models } = await registry.listEmbeddingModels(keys);
      expect(models[1]).toMatchObject({ id: 'acme/embed-free', dimensions: 8 });
      deps.clock.advance(20 * MINUTE);
    }
    expect(standIn.requestsTo('/embeddings').map(({ body }) => body?.input)).toEqual([
      ['dimensions'],
    ]);
  });

  it('keep a model off the list while they cannot be found', async () => {
    const { registry, keys } = createParts();
    standIn.script('/embeddings', { status: 500 });
    expect(ids(await registry.listEmbeddingModels(keys))).toEqual(['local/x']);
    expect(ids(await registry.listEmbeddingModels(keys))).toEqual(['local/x', 'acme/embed-free']);
  });

  it('are requested for a few models at a time, and the list keeps its order', async () => {
    const free = { prompt: '0' };
    const many = Array.from({ length: 20 }, (_, n) => `acme/embed-${n}`);
    standIn.embeddingModels = many.map((id) => ({ id, pricing: free }));
    let [open, most] = [0, 0];
    standIn.routes.set('/embeddings', (_request, response) => {
      open += 1;
      most = Math.max(most, open);
      setTimeout(() => {
        open -= 1;
        response.end(JSON.stringify({ data: [{ embedding: [1, 2] }] }));
      }, 5);
    });
    const { registry, keys } = createParts();
    expect(ids(await registry.listEmbeddingModels(keys))).toEqual(['local/x', ...many]);
    expect(standIn.requestsTo('/embeddings')).toHaveLength(20);
    expect(most).toBeLessThanOrEqual(4);
  });

  it('cause an error for a model requested by name if they cannot be found', async () => {
    const { registry, keys } = createParts();
    standIn.script('/embeddings', { status: 402 });
    await expect(registry.requireEmbeddingModel('acme/embed-free', keys)).rejects.toMatchObject({
      code: 'GATEWAY_OUT_OF_CREDITS',
    });
  });

  describe.skipIf(!hasRedisServer)('with Redis', () => {
    let redis: UpstashRest;
    beforeAll(async () => {
      redis = await startUpstashRest();
    });
    afterAll(() => redis.close());

    it('are shared by all processes, and found again while Redis is down', async () => {
      for (let n = 0; n < 2; n += 1) {
        const { registry, keys } = createParts(redis.environment);
        expect(ids(await registry.listEmbeddingModels(keys))).toContain('acme/embed-free');
      }
      expect(standIn.requestsTo('/embeddings')).toHaveLength(1);
      redis.mode = 'fail';
      const { registry, keys } = createParts(redis.environment);
      expect(ids(await registry.listEmbeddingModels(keys))).toContain('acme/embed-free');
    });
  });
});
