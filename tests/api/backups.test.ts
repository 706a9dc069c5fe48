import { afterEach, describe, expect, it, vi } from 'vitest';
import { createHostedBackupsApp } from '../../lib/backups/backups-function.ts';
import { createPostgres } from '../support/databases.ts';
import { TEST_SECRET, withSecret } from '../support/deps.ts';

async function createApp(environment: Record<string, string>) {
  const lines: string[] = [];
  const app = await createHostedBackupsApp(environment, (line) => lines.push(line));
  const status = async (path: string) => (await app.request(path, { headers: withSecret })).status;
  return { app, lines, status };
}

describe('an invalid variable', () => {
  const value = 'definitely-not-a-network';

  it('is logged by name, without its value', async () => {
    const { lines } = await createApp({ TRUSTED_PROXIES: value, INTERNAL_SECRET: TEST_SECRET });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('TRUSTED_PROXIES');
    expect(lines[0]).not.toContain(value);
  });

  it.each([
    ['/health', 200],
    ['/docs', 200],
    ['/ready', 503],
    ['/api/backups', 503],
    ['/metrics', 503],
    ['/api/cron/sweep-stale-runs', 503],
  ])('still lets %s answer %d', async (path, expected) => {
    const { status } = await createApp({ TRUSTED_PROXIES: value, INTERNAL_SECRET: TEST_SECRET });
    expect(await status(path)).toBe(expected);
  });

  it('has the same effect if it is one of Redis', async () => {
    const { lines, status } = await createApp({ UPSTASH_REDIS_REST_URL: 'https://redis.example' });
    expect(lines.join()).toContain('UPSTASH_REDIS_REST_TOKEN');
    expect([await status('/health'), await status('/api/backups')]).toEqual([200, 503]);
  });
});

it('the function answers 503 without DATABASE_URL, and logs the reason', async () => {
  const { lines, status } = await createApp({ INTERNAL_SECRET: TEST_SECRET });
  expect(lines.join()).toContain('DATABASE_URL is not set');
  expect(await status('/api/backups')).toBe(503);
  expect(await status('/health')).toBe(200);
});

it('the function answers 503 without INTERNAL_SECRET, and logs the reason once', async () => {
  const { lines, status } = await createApp({});
  expect(lines.filter((line) => line.includes('INTERNAL_SECRET'))).toHaveLength(1);
  expect(await status('/api/backups')).toBe(503);
  expect(await status('/metrics')).toBe(503);
});

it('the function counts clients by the address that the platform reports', async () => {
  const { app } = await createApp({ INTERNAL_SECRET: TEST_SECRET });
  const ask = async (ip: string) =>
    (await app.request('/api/backups', { headers: { 'x-real-ip': ip } })).status;
  for (let n = 0; n < 100; n++) await ask('203.0.113.1');
  expect(await ask('203.0.113.1')).toBe(429);
  expect(await ask('203.0.113.2')).toBe(401);
});

// Must come last: modules imported after it do not match those imported before.
describe('the function api/backups.ts', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('reads the environment of its process and answers web requests', async () => {
    const { url, close } = await createPostgres();
    vi.stubEnv('DATABASE_URL', url);
    vi.stubEnv('INTERNAL_SECRET', TEST_SECRET);
    vi.stubEnv('LOG_LEVEL', 'error');
    const { default: handler } = await import('../../api/backups.ts');
    const request = new Request('https://example.com/api/backups', { headers: withSecret });
    const response = await handler.fetch(request);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ data: [] });
    await close();
  });
});
