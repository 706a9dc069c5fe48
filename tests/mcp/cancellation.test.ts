import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  asMessage,
  callOf,
  connectHttp,
  createTestMcpApp,
  createWaitingApp,
  listenMcp,
  listTools,
  messagesOf,
  postMessage,
  withToken,
} from '../support/mcp.ts';

describe('a client that disconnects', () => {
  it('cancels its running requests', async () => {
    const { app, deps, canceled, waiting } = createWaitingApp();
    const leaving = new AbortController();
    const response = await app.request('/mcp', {
      method: 'POST',
      headers: { ...withToken, ...asMessage },
      body: JSON.stringify(callOf('wait')),
      signal: leaving.signal,
    });
    await waiting;
    leaving.abort();
    expect(await messagesOf(response)).toEqual([]);
    expect(canceled).toEqual(['wait']);
    expect(deps.logged).toContainEqual(
      expect.objectContaining({ method: 'tools/call', outcome: 'canceled' }),
    );
  });

  it('cancels its requests that wait for their turn, which is no error', async () => {
    const { app, deps, canceled, waiting } = createWaitingApp();
    const leaving = new AbortController();
    const response = await app.request('/mcp', {
      method: 'POST',
      headers: { ...withToken, ...asMessage },
      body: JSON.stringify(Array.from({ length: 20 }, (_, id) => callOf('wait', undefined, id))),
      signal: leaving.signal,
    });
    await waiting;
    leaving.abort();
    expect(await messagesOf(response)).toEqual([]);
    while (deps.logged.filter(({ outcome }) => outcome === 'canceled').length < 20)
      await setImmediate();
    expect(canceled.length).toBeLessThan(20);
    expect(deps.logged.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('cancels its running requests on a real server', async () => {
    const { app, canceled, waiting } = createWaitingApp();
    const server = await listenMcp(app);
    const leaving = new AbortController();
    const response = await fetch(`${server.url}/mcp`, {
      method: 'POST',
      headers: { ...withToken, ...asMessage, Accept: '*/*' },
      body: JSON.stringify(callOf('wait')),
      signal: leaving.signal,
    });
    await waiting;
    leaving.abort();
    await expect(response.text()).rejects.toThrow();
    while (canceled.length === 0) await fetch(server.url);
    expect(canceled).toEqual(['wait']);
    await server.close();
  });
});

describe('a cancellation in a separate POST', () => {
  const callWait = (id: number | string) => callOf('wait', undefined, id);
  const cancel = (requestId: number | string) => ({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId },
  });
  /** An app with running calls of the tool `wait`, each with its own headers. */
  async function running(...calls: [id: number | string, headers: Record<string, string>][]) {
    const { app, deps, canceled } = createWaitingApp();
    const responses = [];
    for (const [id, headers] of calls) {
      responses.push(await postMessage(app, '/mcp', callWait(id), headers));
    }
    // Answered only once the calls have started.
    await messagesOf(await postMessage(app, '/mcp', listTools));
    return { app, deps, canceled, responses };
  }
  const mine = { 'User-Agent': 'mine/1' };
  const theirs = { 'User-Agent': 'theirs/1' };

  it.each([1, 'one'])('cancels request %j and ends its answer', async (id) => {
    const { app, deps, canceled, responses } = await running([id, mine]);
    expect((await postMessage(app, '/mcp', cancel(id), mine)).status).toBe(202);
    expect(await messagesOf(responses[0] as Response)).toEqual([]);
    expect(canceled).toEqual(['wait']);
    expect(deps.logged).toContainEqual(
      expect.objectContaining({ method: 'tools/call', outcome: 'canceled' }),
    );
  });

  it.each([
    ['another client', [[1, theirs]], cancel(1)],
    ['another request', [[1, mine]], cancel(2)],
    ['a request with a string as its id', [['1', mine]], cancel(1)],
    [
      'one of two with the same id',
      [
        [1, mine],
        [1, mine],
      ],
      cancel(1),
    ],
  ] as const)('does not cancel %s', async (_what, calls, message) => {
    const { app, canceled, responses } = await running(
      ...calls.map(([id, headers]) => [id, { ...headers }] as [number | string, typeof mine]),
    );
    expect((await postMessage(app, '/mcp', message, mine)).status).toBe(202);
    await messagesOf(await postMessage(app, '/mcp', listTools));
    expect(canceled).toEqual([]);
    for (const response of responses) await response.body?.cancel();
  });

  it('does not affect a request that was already answered', async () => {
    const { app, canceled } = await running();
    await messagesOf(await postMessage(app, '/mcp', { ...listTools, id: 7 }, mine));
    const later = await postMessage(app, '/mcp', callWait(8), mine);
    await postMessage(app, '/mcp', cancel(7), mine);
    await messagesOf(await postMessage(app, '/mcp', listTools));
    expect(canceled).toEqual([]);
    await later.body?.cancel();
  });

  it('cancels a call of the official client on a real server', async () => {
    const { app, deps, canceled, waiting } = createWaitingApp();
    const server = await listenMcp(app);
    const client = await connectHttp(`${server.url}/mcp`);
    const leaving = new AbortController();
    const call = client.callTool({ name: 'wait' }, undefined, { signal: leaving.signal });
    const outcome = expect(call).rejects.toThrow();
    await waiting;
    leaving.abort();
    await outcome;
    // The client stops waiting before its notification arrives.
    while (canceled.length === 0) await client.ping();
    expect(deps.logged).toContainEqual(
      expect.objectContaining({ method: 'tools/call', outcome: 'canceled' }),
    );
    await client.close();
    await server.close();
  });
});

describe('a batch of messages', () => {
  const wait = callOf('wait');
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };

  it.each([
    ['after', [wait, cancel]],
    ['before', [cancel, wait]],
  ])('ends when it cancels its own request in a message %s it', async (_place, batch) => {
    const { app } = createTestMcpApp();
    const response = await postMessage(app, '/mcp', [...batch, { ...listTools, id: 2 }]);
    expect(await messagesOf(response)).toMatchObject([{ id: 2, result: {} }]);
  });
});
