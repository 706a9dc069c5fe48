import { expect, it } from 'vitest';
import { createSurface } from '../../../lib/platform/http/surface.ts';
import { createTestDeps } from '../../support/deps.ts';

const WORK_MS = 6;

/** A surface whose answers cost the event loop some milliseconds each, in the order in which they began. */
function createApp() {
  const begun: string[] = [];
  const app = createSurface(createTestDeps());
  app.get('/work/:id', (c) => {
    begun.push(c.req.param('id'));
    const until = performance.now() + WORK_MS;
    while (performance.now() < until);
    return c.text('done');
  });
  app.get('/health', (c) => c.text(String(begun.length)));
  const ask = async (path: string) => (await app.request(path)).text();
  return { ask, begun };
}

it('answers /health before the requests that came before it, when they are many', async () => {
  const { ask, begun } = createApp();
  const many = Array.from({ length: 20 }, (_, id) => ask(`/work/${id}`));
  const begunBefore = Number(await ask('/health'));
  expect(begunBefore).toBeLessThan(4);
  await Promise.all(many);
  expect(begun).toHaveLength(20);
});

it('lets the event loop look at other things between them', async () => {
  const { ask, begun } = createApp();
  const seen = new Set<number>();
  const look = setInterval(() => seen.add(begun.length), 1);
  await Promise.all(Array.from({ length: 20 }, (_, id) => ask(`/work/${id}`)));
  clearInterval(look);
  expect(seen.size).toBeGreaterThan(4);
});

it('begins them in the order in which they came', async () => {
  const { ask, begun } = createApp();
  const ids = Array.from({ length: 20 }, (_, id) => String(id));
  await Promise.all(ids.map((id) => ask(`/work/${id}`)));
  expect(begun).toEqual(ids);
});
