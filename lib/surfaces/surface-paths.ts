import { platformPageRoutes } from './page.ts';

/** A deployed function and its paths. */
export interface Surface {
  name: 'backups' | 'live' | 'observatory' | 'mcp';
  /** The file of the function, from the root of the project. */
  entry: string;
  /** Seconds after which the platform ends a request. */
  maxDuration: number;
  /**
   * Whether the platform aborts requests whose client has disconnected. It may then also stop the function,
   * so all of its work must be passed to `waitUntil`.
   */
  supportsCancellation?: boolean;
  /** Exact paths, or everything below one: `/api/*`. */
  paths: readonly string[];
}

/**
 * The single routing table: used by the local server, written for the platform by `npm run build`, and
 * compared with `vercel.json` by a test. The longest matching pattern wins, so the order does not matter.
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
      '/badges/*',
      '/status/*',
      '/api/*',
      // Everything else gets its 404 here.
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
    // A client that disconnects ends its chat turn.
    supportsCancellation: true,
    paths: [
      '/observatory/*',
      '/auth/*',
      '/me/*',
      '/alert-channels',
      '/alert-channels/*',
      '/users',
      '/users/*',
      '/config',
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
    // The platform only routes by path, so the function itself rejects other methods on `/`.
    paths: ['/', '/mcp', '/mcp/', '/rpc', '/sse', '/message'],
  },
];

/** The platform's cron jobs. */
export const cronJobs = [{ path: '/api/cron/sweep-stale-runs', schedule: '*/10 * * * *' }] as const;

interface Rule {
  pattern: string;
  surface: Surface;
}

/** Exact paths come first, then longer patterns before shorter ones. */
const rank = ({ pattern }: Rule) => pattern.length + (pattern.endsWith('*') ? 0 : 10_000);

const rules: readonly Rule[] = surfaces
  .flatMap((surface) => surface.paths.map((pattern) => ({ pattern, surface })))
  .sort((a, b) => rank(b) - rank(a));

/** Finds the surface for a path. Throws when the table does not cover it. */
export function findSurface(path: string): Surface {
  const rule = rules.find(({ pattern }) =>
    pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : path === pattern,
  );
  if (!rule) throw new Error(`no surface serves ${path}`);
  return rule.surface;
}

/** The path of a function on the platform: its file without the extension. */
export const functionPath = ({ entry }: Surface) => `/${entry.replace(/\.ts$/, '')}`;

/** The rewrites that `vercel.json` must have for the platform to route as the table does. */
export function platformRewrites() {
  return rules.map(({ pattern, surface }) => ({
    // An unnamed group: a named one would be added to the query.
    source: pattern.replace('*', '(.*)'),
    destination: functionPath(surface),
  }));
}

/**
 * The table and the cron jobs in the format of the build's `config.json` (Build Output API, version 3). The
 * platform applies these routes before it looks for files and functions of that name, so that a function's
 * own path has no special meaning. The page's files come first.
 */
export function buildOutputConfig() {
  return {
    version: 3,
    routes: [
      ...platformPageRoutes(),
      ...rules.map(({ pattern, surface }) => ({
        src: `^${pattern.replaceAll('.', '\\.').replace('*', '.*')}$`,
        dest: functionPath(surface),
        // Otherwise `/MCP` would match `/mcp`.
        caseSensitive: true,
      })),
    ],
    crons: cronJobs,
  };
}
