/** A deployed function and the paths that it answers (decisions 1). */
export interface Surface {
  name: 'backups' | 'live' | 'observatory' | 'mcp';
  /** The file of the function, from the root of the project. */
  entry: string;
  /** Seconds after which the platform ends a request. */
  maxDuration: number;
  /** Exact paths, or everything below one: `/api/*`. */
  paths: readonly string[];
}

/**
 * THE table of paths. The local server routes by it, and a test compares `vercel.json` with it. Of two
 * patterns that fit a path, the longer one decides, so the order does not matter.
 */
export const surfaces: readonly Surface[] = [
  {
    name: 'backups',
    entry: 'api/backups.ts',
    maxDuration: 60,
    paths: [
      '/health',
      '/healthz',
      '/ready',
      '/readyz',
      '/metrics',
      '/openapi.json',
      '/docs',
      '/api/*',
      // What nobody owns is answered there with 404.
      '/*',
    ],
  },
  {
    name: 'live',
    entry: 'api/live.ts',
    maxDuration: 300,
    paths: ['/api/logs/stream', '/ws/live'],
  },
  {
    name: 'observatory',
    entry: 'api/observatory.ts',
    maxDuration: 300,
    paths: [
      '/observatory/*',
      '/auth/*',
      '/me/*',
      '/search',
      '/embeddings/*',
      '/sessions',
      '/sessions/*',
      '/chat',
      '/chat/*',
      '/reports',
      '/reports/*',
      '/api/embedding-models',
      '/api/reranking-models',
      '/api/tools/execute',
    ],
  },
  {
    name: 'mcp',
    entry: 'api/mcp.ts',
    maxDuration: 300,
    // The platform routes by path alone, so the function itself refuses other methods on `/`.
    paths: ['/', '/mcp', '/rpc', '/sse', '/message'],
  },
];

/** The jobs that the platform's clock starts: a path and a cron expression. */
export const cronJobs = [{ path: '/api/cron/sweep-stale-runs', schedule: '*/10 * * * *' }] as const;

interface Rule {
  pattern: string;
  surface: Surface;
}

/** An exact path goes before every pattern, a longer pattern before a shorter one. */
const rank = ({ pattern }: Rule) => pattern.length + (pattern.endsWith('*') ? 0 : 10_000);

const rules: readonly Rule[] = surfaces
  .flatMap((surface) => surface.paths.map((pattern) => ({ pattern, surface })))
  .sort((a, b) => rank(b) - rank(a));

/** The surface that answers a path. Throws when the table leaves one out. */
export function findSurface(path: string): Surface {
  const rule = rules.find(({ pattern }) =>
    pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern,
  );
  if (!rule) throw new Error(`no surface answers ${path}`);
  return rule.surface;
}

/** What `vercel.json` must say for the platform to route as the table does. */
export function platformRouting() {
  return {
    rewrites: rules.map(({ pattern, surface }) => ({
      // An unnamed group: a named one would be added to the query.
      source: pattern.replace('*', '(.*)'),
      destination: `/${surface.entry.replace(/\.ts$/, '')}`,
    })),
    functions: Object.fromEntries(
      surfaces.map(({ entry, maxDuration }) => [entry, { maxDuration }] as const),
    ),
    crons: cronJobs,
  };
}
