import { describe, expect, it } from 'vitest';
import type { Environment } from '../../lib/config/read.ts';
import { createSurface, protect } from '../../lib/http/surface.ts';
import { createTestDeps, TEST_SECRET } from '../support/deps.ts';

function createApp(environment: Environment = {}) {
  const deps = createTestDeps({ environment });
  const app = createSurface(deps);
  app.use('/api/*', ...protect(deps));
  app.get('/api/things', (c) => c.json({ internal: c.get('hasInternalSecret') }));
  app.get('/health', (c) => c.text('ok'));
  const status = async (headers: Record<string, string>) =>
    (await app.request('/api/things', { headers })).status;
  return { app, deps, status };
}

describe('a request with the internal secret', () => {
  const { status } = createApp();

  it.each<[string, Record<string, string>]>([
    ['X-Internal-Secret', { 'X-Internal-Secret': TEST_SECRET }],
    ['Authorization', { Authorization: `Bearer ${TEST_SECRET}` }],
    ['Authorization in another case', { authorization: `bEARER  ${TEST_SECRET}` }],
    [
      'a valid and a wrong secret',
      { 'X-Internal-Secret': TEST_SECRET, Authorization: 'Bearer no' },
    ],
    [
      'a wrong and a valid secret',
      { 'X-Internal-Secret': 'no', Authorization: `Bearer ${TEST_SECRET}` },
    ],
  ])('passes: %s', async (_name, headers) => {
    expect(await status(headers)).toBe(200);
  });
});

describe('a request without a valid secret', () => {
  const { app, status } = createApp();

  it.each<[string, Record<string, string>]>([
    ['none', {}],
    ['empty', { 'X-Internal-Secret': '' }],
    ['wrong', { 'X-Internal-Secret': `${TEST_SECRET}x` }],
    ['a prefix of the secret', { 'X-Internal-Secret': TEST_SECRET.slice(0, -1) }],
    ['the secret in another case', { 'X-Internal-Secret': TEST_SECRET.toUpperCase() }],
    ['another scheme', { Authorization: `Basic ${TEST_SECRET}` }],
    ['the secret without a scheme', { Authorization: TEST_SECRET }],
    ['only a scheme', { Authorization: 'Bearer ' }],
  ])('is rejected: %s', async (_name, headers) => {
    expect(await status(headers)).toBe(401);
  });

  it('gets the error envelope and the challenge', async () => {
    const response = await app.request('/api/things', { headers: { 'X-Request-ID': 'mine' } });
    expect(response.headers.get('WWW-Authenticate')).toBe('Bearer realm=backup-api');
    expect(await response.json()).toEqual({
      success: false,
      error: { code: 'UNAUTHORIZED', message: 'a valid secret is required', request_id: 'mine' },
      message: 'a valid secret is required',
    });
  });

  it('reaches public routes', async () => {
    expect((await app.request('/health')).status).toBe(200);
  });
});

describe('API_REQUIRE_AUTH=false', () => {
  it('opens every route', async () => {
    const { status } = createApp({ API_REQUIRE_AUTH: 'false' });
    expect(await status({})).toBe(200);
  });

  it('still recognizes the secret', async () => {
    const { app } = createApp({ API_REQUIRE_AUTH: 'false' });
    const headers = { 'X-Internal-Secret': TEST_SECRET };
    expect(await (await app.request('/api/things', { headers })).json()).toEqual({
      internal: true,
    });
    expect(await (await app.request('/api/things')).json()).toEqual({ internal: false });
  });
});

describe.each<[string, Environment]>([
  ['missing', { INTERNAL_SECRET: '' }],
  ['too short', { INTERNAL_SECRET: 'x'.repeat(31) }],
])('an INTERNAL_SECRET that is %s', (_name, environment) => {
  it('makes protected paths unavailable, even to callers that send it', async () => {
    const { app } = createApp(environment);
    const headers = { 'X-Internal-Secret': environment.INTERNAL_SECRET ?? '' };
    const response = await app.request('/api/things', { headers });
    expect(response.status).toBe(503);
    expect(response.headers.get('Retry-After')).toMatch(/^[1-9]\d*$/);
    expect(await response.json()).toMatchObject({
      success: false,
      error: { code: 'SERVICE_UNAVAILABLE' },
    });
    expect((await app.request('/health')).status).toBe(200);
  });

  it('is logged once, without its value', async () => {
    const { app, deps } = createApp(environment);
    await app.request('/api/things');
    await app.request('/api/things');
    const named = deps.logged.filter(({ message }) => message.includes('INTERNAL_SECRET'));
    expect(named).toHaveLength(1);
    expect(named[0]?.level).toBe('error');
    expect(JSON.stringify(deps.logged)).not.toContain('x'.repeat(31));
  });
});
