import { beforeEach, describe, expect, it } from 'vitest';
import type { Environment } from '../../lib/config/read.ts';
import { createGateway, type Gateway } from '../../lib/gateway/gateway.ts';
import type { KeyRing } from '../../lib/gateway/keys.ts';
import { createTestDeps } from '../support/deps.ts';
import { type Gateway as StandIn, startGateway } from '../support/gateway.ts';

const [FIRST, SECOND, THIRD] = ['sk-first-key-0001', 'sk-second-key-0002', 'sk-third-key-0003'];

let standIn: StandIn;
beforeEach(async () => {
  standIn = await startGateway();
  return () => standIn.close();
});

function createParts(environment: Environment = {}) {
  const deps = createTestDeps({
    environment: {
      GATEWAY_BASE_URL: standIn.url,
      GATEWAY_API_KEYS: [FIRST, SECOND, THIRD].join(),
      ...environment,
    },
  });
  return { deps, gateway: createGateway(deps, []) };
}

const serverKeys = (gateway: Gateway): Promise<KeyRing> => gateway.credentials.resolveKeys(null);

async function embed(gateway: Gateway, texts = ['one', 'two'], signal?: AbortSignal) {
  return gateway.client.embedTexts({
    model: 'acme/embed-free',
    texts,
    keys: await serverKeys(gateway),
    ...(signal ? { signal } : {}),
  });
}

async function rerank(gateway: Gateway, documents: string[], topN = 10) {
  const keys = await serverKeys(gateway);
  return gateway.client.rerankDocuments({
    model: 'acme/rerank-free',
    query: 'disk full',
    documents,
    topN,
    keys,
  });
}

describe('embedTexts', () => {
  it('sends all texts in one request and returns a vector for each, in their order', async () => {
    const { gateway } = createParts();
    const vectors = await embed(gateway, ['aaa', 'bb']);
    expect(vectors).toHaveLength(2);
    expect(vectors[0]).toHaveLength(8);
    expect(standIn.requests).toEqual([
      {
        method: 'POST',
        path: '/embeddings',
        key: FIRST,
        body: { model: 'acme/embed-free', input: ['aaa', 'bb'], encoding_format: 'float' },
      },
    ]);
  });

  it('sorts vectors that arrive out of order', async () => {
    const { gateway } = createParts();
    const data = [
      { index: 1, embedding: [0, 1] },
      { index: 0, embedding: [1, 0] },
    ];
    standIn.script('/embeddings', { body: { data } });
    expect(await embed(gateway)).toEqual([
      [1, 0],
      [0, 1],
    ]);
  });

  it('sends no request without texts', async () => {
    const { gateway } = createParts();
    expect(await embed(gateway, [])).toEqual([]);
    expect(standIn.requests).toEqual([]);
  });

  it.each<[string, unknown]>([
    ['too few vectors', { data: [{ embedding: [1] }] }],
    ['too many vectors', { data: [{ embedding: [1] }, { embedding: [1] }, { embedding: [1] }] }],
    [
      'a duplicate index',
      {
        data: [
          { index: 0, embedding: [1] },
          { index: 0, embedding: [1] },
        ],
      },
    ],
    [
      'an index out of range',
      {
        data: [
          { index: 0, embedding: [1] },
          { index: 9, embedding: [1] },
        ],
      },
    ],
    ['vectors of two lengths', { data: [{ embedding: [1] }, { embedding: [1, 2] }] }],
    ['an empty vector', { data: [{ embedding: [] }, { embedding: [] }] }],
    ['a vector containing text', { data: [{ embedding: ['1'] }, { embedding: [1] }] }],
    ['a number beyond range', '{"data":[{"embedding":[1e999]},{"embedding":[1]}]}'],
    ['text that is not JSON', 'upstream says <b>hello</b>'],
    ['no data', {}],
    ['an error without a status', { error: { message: 'model exploded' } }],
  ])('fails with GATEWAY_ERROR on %s', async (_case, body) => {
    const { gateway } = createParts();
    standIn.script('/embeddings', { body });
    await expect(embed(gateway)).rejects.toMatchObject({
      code: 'GATEWAY_ERROR',
      message: 'the model gateway failed',
    });
    expect(standIn.requests).toHaveLength(1);
  });

  it('stops reading an answer above its size limit', async () => {
    const { gateway } = createParts();
    standIn.script('/embeddings', { body: `{"data": "${'x'.repeat(65 * 1024 * 1024)}"}` });
    await expect(embed(gateway)).rejects.toMatchObject({ code: 'GATEWAY_ERROR' });
  });
});

describe('rerankDocuments', () => {
  it('returns the best documents first, with their index in the request', async () => {
    const { gateway } = createParts();
    const documents = ['nothing', 'the disk is full', 'the disk'];
    expect(await rerank(gateway, documents, 2)).toEqual([
      { index: 1, relevance_score: 1 },
      { index: 2, relevance_score: 0.5 },
    ]);
    expect(standIn.requests[0]?.body).toEqual({
      model: 'acme/rerank-free',
      query: 'disk full',
      documents,
      top_n: 2,
    });
  });

  it('sorts an unsorted answer', async () => {
    const { gateway } = createParts();
    const results = [
      { index: 0, relevance_score: 0.1 },
      { index: 1, relevance_score: 0.9 },
    ];
    standIn.script('/rerank', { body: { results } });
    expect((await rerank(gateway, ['a', 'b'])).map(({ index }) => index)).toEqual([1, 0]);
  });

  it.each([
    ['names a document that was not sent', [{ index: 7, relevance_score: 1 }]],
    [
      'names a document twice',
      [
        { index: 0, relevance_score: 1 },
        { index: 0, relevance_score: 1 },
      ],
    ],
    ['has no score', [{ index: 0 }]],
  ])('fails with GATEWAY_ERROR when the answer %s', async (_case, results) => {
    const { gateway } = createParts();
    standIn.script('/rerank', { body: { results } });
    await expect(rerank(gateway, ['a', 'b'])).rejects.toMatchObject({ code: 'GATEWAY_ERROR' });
  });
});

describe('a failure of the gateway', () => {
  it.each([
    [400, 'GATEWAY_BAD_REQUEST'],
    [404, 'GATEWAY_BAD_REQUEST'],
    [422, 'GATEWAY_BAD_REQUEST'],
    [403, 'GATEWAY_ERROR'],
    [408, 'GATEWAY_UNAVAILABLE'],
    [500, 'GATEWAY_UNAVAILABLE'],
    [502, 'GATEWAY_UNAVAILABLE'],
    [503, 'GATEWAY_UNAVAILABLE'],
  ])('is mapped from status %i to %s, without trying another key', async (status, code) => {
    const { gateway } = createParts();
    standIn.script('/embeddings', { status, body: 'upstream secret sk-or-v1-abcdef' });
    const failing = embed(gateway);
    await expect(failing).rejects.toMatchObject({ code });
    await expect(failing).rejects.not.toMatchObject({ message: expect.stringContaining('sk-or') });
    expect(standIn.requests).toHaveLength(1);
  });

  it('counts by its own status inside a 200 answer', async () => {
    const { gateway } = createParts();
    standIn.script('/embeddings', { body: { error: { code: 502, message: 'provider down' } } });
    await expect(embed(gateway)).rejects.toMatchObject({ code: 'GATEWAY_UNAVAILABLE' });
  });

  it('becomes GATEWAY_UNAVAILABLE when the connection breaks off', async () => {
    const { gateway } = createParts();
    standIn.script('/embeddings', { instead: 'reset' });
    await expect(embed(gateway)).rejects.toMatchObject({ code: 'GATEWAY_UNAVAILABLE' });
    await standIn.close();
    await expect(embed(gateway)).rejects.toMatchObject({ code: 'GATEWAY_UNAVAILABLE' });
    standIn = await startGateway();
  });

  it('becomes GATEWAY_UNAVAILABLE after GATEWAY_REQUEST_TIMEOUT_SECONDS without an answer', async () => {
    const { gateway, deps } = createParts({ GATEWAY_REQUEST_TIMEOUT_SECONDS: '7' });
    standIn.script('/embeddings', { instead: 'hang' });
    const outcome = embed(gateway).catch((error: unknown) => error);
    while (standIn.requests.length === 0) await new Promise(setImmediate);
    deps.clock.advance(6_999);
    expect(deps.clock.sleepers()).toBe(1);
    deps.clock.advance(1);
    expect(await outcome).toMatchObject({ code: 'GATEWAY_UNAVAILABLE' });
  });

  it('leaves no timer behind', async () => {
    const { gateway, deps } = createParts();
    await embed(gateway);
    expect(deps.clock.sleepers()).toBe(0);
  });

  it('becomes GATEWAY_ERROR for a redirect, and neither key nor text goes elsewhere', async () => {
    const elsewhere = await startGateway();
    const { gateway } = createParts();
    const headers = { Location: `${elsewhere.url}/embeddings` };
    for (const status of [301, 302, 303, 307, 308]) {
      standIn.script('/embeddings', { status, headers });
      await expect(embed(gateway)).rejects.toMatchObject({ code: 'GATEWAY_ERROR' });
    }
    expect(elsewhere.requests).toEqual([]);
    await elsewhere.close();
  });
});

describe('a caller that aborts a request', () => {
  it('gets its own reason', async () => {
    const { gateway } = createParts();
    standIn.script('/embeddings', { instead: 'hang' });
    const caller = new AbortController();
    const outcome = embed(gateway, ['one'], caller.signal).catch((error: unknown) => error);
    while (standIn.requests.length === 0) await new Promise(setImmediate);
    const reason = new Error('the deadline is over');
    caller.abort(reason);
    expect(await outcome).toBe(reason);
  });
});

describe("the server's keys", () => {
  it.each([401, 402, 429])('are replaced by the next one after a %i', async (status) => {
    const { gateway } = createParts();
    standIn.refusedKeys.set(FIRST, status);
    expect(await embed(gateway)).toHaveLength(2);
    expect(standIn.requests.map(({ key }) => key)).toEqual([FIRST, SECOND]);
  });

  it('start with the one that worked last', async () => {
    const { gateway } = createParts();
    standIn.refusedKeys.set(FIRST, 402);
    await embed(gateway);
    await embed(gateway);
    expect(standIn.requests.map(({ key }) => key)).toEqual([FIRST, SECOND, SECOND]);
  });

  it.each([
    [[401, 401, 401], 'GATEWAY_ERROR'],
    [[401, 402, 401], 'GATEWAY_OUT_OF_CREDITS'],
    [[402, 402, 402], 'GATEWAY_OUT_OF_CREDITS'],
    [[429, 402, 401], 'GATEWAY_RATE_LIMITED'],
    [[429, 429, 429], 'GATEWAY_RATE_LIMITED'],
  ])('are each tried once when refused with %j, which ends in %s', async (statuses, code) => {
    const { gateway } = createParts();
    for (const [index, key] of [FIRST, SECOND, THIRD].entries()) {
      standIn.refusedKeys.set(key, statuses[index] ?? 0);
    }
    await expect(embed(gateway)).rejects.toMatchObject({ code });
    expect(standIn.requests.map(({ key }) => key)).toEqual([FIRST, SECOND, THIRD]);
  });

  it('pass on how long the gateway asks to wait', async () => {
    const { gateway } = createParts({ GATEWAY_API_KEYS: FIRST });
    standIn.script('/embeddings', { status: 429, headers: { 'Retry-After': '17' } });
    await expect(embed(gateway)).rejects.toMatchObject({ headers: { 'Retry-After': '17' } });
  });

  it('cause GATEWAY_NOT_CONFIGURED when there are none', async () => {
    const { gateway } = createParts({ GATEWAY_API_KEYS: undefined });
    await expect(serverKeys(gateway)).rejects.toMatchObject({ code: 'GATEWAY_NOT_CONFIGURED' });
  });
});
