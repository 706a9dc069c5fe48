import { expect, it } from 'vitest';
import { createIsolateHandler, type FetchHandler } from '../../lib/surfaces/isolate.ts';

/** The surfaces of an isolate, of which the test uses one. */
function handlerOf(fetch: FetchHandler['fetch']) {
  const surface = async () => ({ fetch });
  return createIsolateHandler({
    surfaces: { backups: surface, live: surface, observatory: surface, mcp: surface },
    addressHeader: 'CF-Connecting-IP',
  });
}
const request = () => new Request('http://localhost/api/backups');

it('a request runs to its end even if its client disconnects or it fails', async () => {
  const { promise, resolve } = Promise.withResolvers<Response>();
  const work: Promise<unknown>[] = [];
  const context = { waitUntil: (until: Promise<unknown>) => void work.push(until) };
  const answering = handlerOf(() => promise).fetch(request(), {}, context);
  let isDone = false;
  const done = Promise.all(work).then(() => {
    isDone = true;
  });
  expect(work).toHaveLength(1);
  await new Promise(setImmediate);
  expect(isDone).toBe(false);
  resolve(new Response('late'));
  expect(await (await answering).text()).toBe('late');
  await done;

  const broken = handlerOf(() => Promise.reject(new Error('broken')));
  await expect(broken.fetch(request(), {}, context)).rejects.toThrow('broken');
  await Promise.all(work);
});

it('each surface is created once, by its first request', async () => {
  let made = 0;
  const handler = createIsolateHandler({
    surfaces: {
      backups: async () => {
        made++;
        return { fetch: () => new Response(`${made}`) };
      },
      live: () => Promise.reject(new Error('nobody asks it')),
      observatory: () => Promise.reject(new Error('nobody asks it')),
      mcp: () => Promise.reject(new Error('nobody asks it')),
    },
    addressHeader: 'CF-Connecting-IP',
  });
  expect(made).toBe(0);
  for (let n = 0; n < 3; n++) {
    const response = await handler.fetch(request(), {}, { waitUntil: () => undefined });
    expect(await response.text()).toBe('1');
  }
});
