import { describe, expect, it } from 'vitest';
import type { Environment } from '../../lib/config/read.ts';
import { createSurface, protect } from '../../lib/http/surface.ts';
import { createTestDeps, withSecret } from '../support/deps.ts';

function createApp(environment: Environment = {}) {
  const deps = createTestDeps({ environment: { API_REQUIRE_AUTH: 'false', ...environment } });
  const app = createSurface(deps);
  app.use('/api/*', ...protect(deps));
  app.get('/api/things', (c) => c.text('things'));
  app.get('/open', (c) => c.text('open'));
  const send = (peer: string, headers: Record<string, string> = {}, path = '/api/things') =>
    app.request(path, { headers }, { incoming: { socket: { remoteAddress: peer } } });
  /** Returns how many of `times` requests are served. */
  const served = async (times: number, peer: string, headers: Record<string, string> = {}) => {
    let count = 0;
    for (let index = 0; index < times; index += 1) {
      if ((await send(peer, headers)).status === 200) count += 1;
    }
    return count;
  };
  return { deps, send, served };
}

const forwardedFor = (address: string) => ({ 'X-Forwarded-For': address });

describe('requests without the secret', () => {
  it('are limited to 100 per minute and address', async () => {
    const { served } = createApp();
    expect(await served(105, '192.0.2.1')).toBe(100);
    expect(await served(1, '192.0.2.2')).toBe(1);
  });

  it('are served again after a minute', async () => {
    const { deps, served } = createApp();
    await served(101, '192.0.2.1');
    deps.clock.advance(59_999);
    expect(await served(1, '192.0.2.1')).toBe(0);
    deps.clock.advance(1);
    expect(await served(101, '192.0.2.1')).toBe(100);
  });

  it('cannot bypass the limit with a forwarded header', async () => {
    const { send, served } = createApp();
    await served(100, '192.0.2.1');
    expect((await send('192.0.2.1', forwardedFor('198.51.100.1'))).status).toBe(429);
  });

  it('are counted by the forwarded address behind a trusted proxy', async () => {
    const { served } = createApp({ TRUSTED_PROXIES: '10.0.0.0/8' });
    expect(await served(101, '10.0.0.1', forwardedFor('198.51.100.1'))).toBe(100);
    expect(await served(1, '10.0.0.1', forwardedFor('198.51.100.2'))).toBe(1);
  });

  it('are counted by the configured header', async () => {
    const { served } = createApp({
      TRUSTED_PROXIES: '10.0.0.1',
      TRUST_PROXY_HEADER: 'CF-Connecting-IP',
    });
    const headers = { 'cf-connecting-ip': '198.51.100.1', ...forwardedFor('198.51.100.9') };
    expect(await served(101, '10.0.0.1', headers)).toBe(100);
    expect(await served(1, '198.51.100.9')).toBe(1);
  });

  it('are counted together for all forms of an address', async () => {
    const { served } = createApp();
    expect(await served(60, '192.0.2.1')).toBe(60);
    expect(await served(60, '::ffff:192.0.2.1')).toBe(40);
  });
});

describe('requests with the secret', () => {
  it('are limited to 300 per minute and forwarded address', async () => {
    const { served } = createApp();
    const headers = { ...withSecret, ...forwardedFor('198.51.100.1') };
    expect(await served(305, '192.0.2.1', headers)).toBe(300);
    expect(await served(1, '192.0.2.1', { ...withSecret, ...forwardedFor('198.51.100.2') })).toBe(
      1,
    );
  });

  it('are not limited if they forward no address', async () => {
    const { send, served } = createApp();
    expect(await served(400, '192.0.2.1', withSecret)).toBe(400);
    expect((await send('192.0.2.1', withSecret)).headers.has('RateLimit-Limit')).toBe(false);
  });

  it('are counted separately from those without it', async () => {
    const { served } = createApp();
    await served(100, '198.51.100.1');
    const headers = { ...withSecret, ...forwardedFor('198.51.100.1') };
    expect(await served(1, '192.0.2.1', headers)).toBe(1);
  });
});

describe('rate-limited responses', () => {
  it('state the remaining requests', async () => {
    const { deps, send } = createApp();
    await send('192.0.2.1');
    deps.clock.advance(10_500);
    const { headers } = await send('192.0.2.1');
    expect(headers.get('RateLimit-Limit')).toBe('100');
    expect(headers.get('RateLimit-Remaining')).toBe('98');
    expect(headers.get('RateLimit-Reset')).toBe('50');
  });

  it('are 429 with the envelope and the right Retry-After', async () => {
    const { deps, send, served } = createApp();
    await served(100, '192.0.2.1');
    deps.clock.advance(20_000);
    const response = await send('192.0.2.1', { 'X-Request-ID': 'mine' });
    expect(response.status).toBe(429);
    expect(response.headers.get('Retry-After')).toBe('40');
    expect(response.headers.get('RateLimit-Remaining')).toBe('0');
    expect(await response.json()).toEqual({
      success: false,
      error: {
        code: 'RATE_LIMITED',
        message: 'too many requests, try again later',
        request_id: 'mine',
      },
      message: 'too many requests, try again later',
    });
    deps.clock.advance(40_000);
    expect((await send('192.0.2.1')).status).toBe(200);
  });

  it('never have a Retry-After below one second', async () => {
    const { deps, send, served } = createApp();
    await served(100, '192.0.2.1');
    deps.clock.advance(59_900);
    expect((await send('192.0.2.1')).headers.get('Retry-After')).toBe('1');
  });

  it('have the headers even if the handler fails', async () => {
    const { send } = createApp();
    const response = await send('192.0.2.1', {}, '/api/nowhere');
    expect(response.status).toBe(404);
    expect(response.headers.get('RateLimit-Limit')).toBe('100');
  });

  it('are only sent for protected paths', async () => {
    const { send, served } = createApp();
    await served(101, '192.0.2.1');
    expect((await send('192.0.2.1', {}, '/open')).status).toBe(200);
  });
});
