import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { backupsEndpoints } from '../../lib/backups/endpoints.ts';
import { cronJobs, findSurface, platformRouting, surfaces } from '../../lib/platform/surfaces.ts';
import platform from '../../vercel.json' with { type: 'json' };

it('is what vercel.json says', () => {
  expect(platform).toMatchObject(platformRouting());
  expect(platform.rewrites).toHaveLength(platformRouting().rewrites.length);
});

it('names functions that exist', () => {
  for (const { entry } of surfaces) expect(existsSync(entry)).toBe(true);
});

it.each(backupsEndpoints.map(({ route }) => [route.path.replace(':id', '7')]))(
  'routes %s to the service API by a pattern of its own',
  (path) => {
    expect(findSurface(path).name).toBe('backups');
    const patterns = findSurface(path).paths.filter((pattern) => pattern !== '/*');
    expect(
      patterns.some((pattern) => pattern === path || path.startsWith(pattern.replace('*', ''))),
    ).toBe(true);
  },
);

it.each(['/nowhere', '/api/nowhere', '/docs/', '/apis'])(
  'routes %s, which nobody owns, to the service API',
  (path) => {
    expect(findSurface(path).name).toBe('backups');
  },
);

it('has cron jobs that a route serves', () => {
  const paths = backupsEndpoints.map(({ route }) => route.path);
  for (const { path } of cronJobs) expect(paths).toContain(path);
});

// decisions 1
it.each([
  ['/api/logs/stream', 'live'],
  ['/ws/live', 'live'],
  ['/', 'mcp'],
  ['/mcp', 'mcp'],
  ['/rpc', 'mcp'],
  ['/sse', 'mcp'],
  ['/message', 'mcp'],
  ['/observatory/ready', 'observatory'],
  ['/observatory/api/embedding-models', 'observatory'],
  ['/auth/login', 'observatory'],
  ['/me/gateway/exchange', 'observatory'],
  ['/search', 'observatory'],
  ['/api/embedding-models', 'observatory'],
  ['/api/reranking-models', 'observatory'],
  ['/api/tools/execute', 'observatory'],
  ['/embeddings/process-batch', 'observatory'],
  ['/sessions', 'observatory'],
  ['/sessions/7/messages', 'observatory'],
  ['/chat', 'observatory'],
  ['/chat/stream', 'observatory'],
  ['/reports', 'observatory'],
  ['/reports/send', 'observatory'],
  ['/ready', 'backups'],
])('routes %s to the surface %s', (path, name) => {
  expect(findSurface(path).name).toBe(name);
});
