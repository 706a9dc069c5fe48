import { describe, expect, it } from 'vitest';
import { AppError } from '../../lib/errors.ts';
import { createSurface } from '../../lib/http/surface.ts';
import { createTestDeps } from '../support/deps.ts';

function createApp() {
  const deps = createTestDeps();
  const app = createSurface(deps);
  app.get('/things/:id', async (c) => {
    c.set('routePattern', '/things/:id');
    if (c.req.param('id') === 'bad') throw new AppError('BAD_REQUEST', 'no');
    if (c.req.param('id') === 'broken') throw new Error('broken');
    return c.text(await deps.metrics.render());
  });
  return { app, metrics: deps.metrics };
}

const linesOf = (text: string, name: string) =>
  text.split('\n').filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));

describe('the metrics of requests', () => {
  it('are labeled by route pattern, method and status', async () => {
    const { app, metrics } = createApp();
    for (const id of ['1', '2', 'bad', 'broken']) await app.request(`/things/${id}`);
    expect(linesOf(await metrics.render(), 'http_requests_total')).toEqual([
      'http_requests_total{method="GET",route="/things/:id",status="200"} 2',
      'http_requests_total{method="GET",route="/things/:id",status="400"} 1',
      'http_requests_total{method="GET",route="/things/:id",status="500"} 1',
    ]);
  });

  it('do not get more series from guessed paths and methods', async () => {
    const { app, metrics } = createApp();
    for (const path of ['/a', '/b"}\n', '/c']) await app.request(path, { method: 'BREW' });
    expect(linesOf(await metrics.render(), 'http_requests_total')).toEqual([
      'http_requests_total{method="OTHER",route="unmatched",status="404"} 3',
    ]);
  });

  it('count durations with the same labels', async () => {
    const { app, metrics } = createApp();
    await app.request('/things/1');
    expect(linesOf(await metrics.render(), 'http_request_duration_seconds_count')).toEqual([
      'http_request_duration_seconds_count{method="GET",route="/things/:id",status="200"} 1',
    ]);
  });

  it('count requests in progress', async () => {
    const { app, metrics } = createApp();
    const during = await (await app.request('/things/1')).text();
    expect(linesOf(during, 'http_requests_in_flight')).toEqual(['http_requests_in_flight 1']);
    const after = await metrics.render();
    expect(linesOf(after, 'http_requests_in_flight')).toEqual(['http_requests_in_flight 0']);
  });

  it('count a handler that throws a non-Error', async () => {
    const deps = createTestDeps();
    const app = createSurface(deps);
    app.get('/fails', () => {
      throw null;
    });
    await app.request('/fails');
    const text = await deps.metrics.render();
    expect(linesOf(text, 'http_requests_total')).toEqual([
      'http_requests_total{method="GET",route="unmatched",status="500"} 1',
    ]);
    expect(linesOf(text, 'http_requests_in_flight')).toEqual(['http_requests_in_flight 0']);
  });
});

describe('the metrics of a process', () => {
  it('show its memory and its database pool', async () => {
    const deps = createTestDeps({
      db: {
        driver: 'pg',
        query: async () => [],
        poolStats: () => ({ total: 7, idle: 4, waiting: 2 }),
        close: async () => undefined,
      },
    });
    const text = await deps.metrics.render();
    expect(linesOf(text, 'process_resident_memory_bytes')).toHaveLength(1);
    expect(linesOf(text, 'database_pool_connections')).toEqual(['database_pool_connections 7']);
    expect(linesOf(text, 'database_pool_idle')).toEqual(['database_pool_idle 4']);
    expect(linesOf(text, 'database_pool_waiting')).toEqual(['database_pool_waiting 2']);
    expect(deps.metrics.contentType).toMatch(/^text\/plain/);
  });

  it('end in _total if and only if they are counters', async () => {
    for (const { name, type } of await createTestDeps().metrics.json()) {
      expect(name.endsWith('_total'), name).toBe(type === 'counter');
    }
  });

  it('are separate from those of another', async () => {
    const [one, other] = [createApp(), createApp()];
    await one.app.request('/things/1');
    expect(linesOf(await other.metrics.render(), 'http_requests_total')).toEqual([]);
  });

  it('have the same values as JSON', async () => {
    const { app, metrics } = createApp();
    await app.request('/things/1');
    const families = await metrics.json();
    expect(families.find(({ name }) => name === 'http_requests_total')).toEqual({
      name: 'http_requests_total',
      help: 'Completed requests.',
      type: 'counter',
      values: [{ labels: { method: 'GET', route: '/things/:id', status: '200' }, value: 1 }],
    });
    const histogram = families.find(({ name }) => name === 'http_request_duration_seconds');
    expect(histogram?.values).toContainEqual({
      name: 'http_request_duration_seconds_count',
      labels: { method: 'GET', route: '/things/:id', status: '200' },
      value: 1,
    });
  });
});
