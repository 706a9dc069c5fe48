import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { backupsEndpoints } from '../../lib/backups/backups-endpoints.ts';
import {
  buildOutputConfig,
  cronJobs,
  findSurface,
  functionPath,
  platformRewrites,
  surfaces,
} from '../../lib/surfaces/surface-paths.ts';
import platform from '../../vercel.json' with { type: 'json' };

it('the routing table equals vercel.json', () => {
  expect(platform.rewrites).toEqual(platformRewrites());
});

it('the routing table names existing functions', () => {
  for (const { entry } of surfaces) expect(existsSync(entry)).toBe(true);
});

it.each(backupsEndpoints.map(({ route }) => [route.path.replace(':id', '7')]))(
  'the path %s is routed to the service API by a specific pattern',
  (path) => {
    expect(findSurface(path).name).toBe('backups');
    const patterns = findSurface(path).paths.filter((pattern) => pattern !== '/*');
    expect(
      patterns.some((pattern) => pattern === path || path.startsWith(pattern.replace('*', ''))),
    ).toBe(true);
  },
);

it.each(['/nowhere', '/api/nowhere', '/docs/', '/apis'])(
  'the unknown path %s is routed to the service API',
  (path) => {
    expect(findSurface(path).name).toBe('backups');
  },
);

it('every cron job has a route', () => {
  const paths = backupsEndpoints.map(({ route }) => route.path);
  for (const { path } of cronJobs) expect(paths).toContain(path);
});

const owners = [
  ['/api/logs/stream', 'live'],
  ['/ws/live', 'live'],
  ['/', 'mcp'],
  ['/mcp', 'mcp'],
  ['/mcp/', 'mcp'],
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
] as const;

it.each(owners)('the path %s is routed to %s', (path, name) => {
  expect(findSurface(path).name).toBe(name);
});

it.each([
  ...owners,
  ['/docs', 'backups'],
  ['/openapixjson', 'backups'],
  ['/a/b', 'backups'],
] as const)('writes a route for the platform that takes %s to %s alike', (path, name) => {
  const route = buildOutputConfig().routes.find(
    (route) => new RegExp(route.src).test(path) && !('has' in route),
  );
  const surface = surfaces.find((surface) => surface.name === name);
  expect(route && 'dest' in route && route.dest).toBe(surface && functionPath(surface));
});
