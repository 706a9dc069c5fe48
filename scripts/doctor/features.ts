import { neededVariables } from '../../lib/config/features.ts';
import { findRejection } from './rejected-config.ts';
import type { Check, Feature } from './report.ts';
import type { Subject } from './subject.ts';

/** A feature and the checks it depends on. */
interface Need {
  surface: Feature['surface'];
  feature: string;
  needs: readonly string[];
  /** Only in a deployment, or only on your own machine. */
  only?: 'hosted' | 'local';
}

const data = ['database', 'migrations', 'unfinished_move'];

const features: readonly Need[] = [
  {
    surface: 'service API',
    feature: 'runs, results, logs and statistics',
    needs: ['INTERNAL_SECRET', ...data],
  },
  {
    surface: 'service API',
    feature: 'sweep of stale runs',
    needs: ['CRON_SECRET', ...data],
    only: 'hosted',
  },
  {
    surface: 'service API',
    feature: 'rate limits across instances',
    needs: ['redis'],
    only: 'hosted',
  },
  {
    surface: 'live feed',
    feature: 'live logs',
    needs: ['INTERNAL_SECRET', ...data],
  },
  {
    surface: 'observatory',
    feature: 'login and sessions',
    needs: ['JWT_SECRET', 'users', ...data],
  },
  { surface: 'observatory', feature: 'full-text search', needs: ['JWT_SECRET', ...data] },
  {
    surface: 'observatory',
    feature: 'vector search',
    needs: ['JWT_SECRET', ...data, 'vectors'],
  },
  { surface: 'observatory', feature: 'chat', needs: ['JWT_SECRET', ...data, 'gateway'] },
  {
    surface: 'observatory',
    feature: "users' own gateway keys",
    needs: ['JWT_SECRET', ...data, ...neededVariables.ownGatewayKeys, 'stored_keys'],
  },
  { surface: 'observatory', feature: 'reports by mail', needs: ['JWT_SECRET', ...data, 'mail'] },
  {
    surface: 'MCP server',
    feature: 'tools over the network',
    needs: [...neededVariables.mcp, ...data],
  },
  {
    surface: 'MCP server',
    feature: 'archive checks',
    needs: ['git', 'archives'],
    only: 'local',
  },
  { surface: 'worker', feature: 'backups', needs: ['git', 'archives', ...data], only: 'local' },
];

/** Which features work, and why the others do not. */
export function describeFeatures(checks: readonly Check[], subject: Subject): Feature[] {
  const found = new Map(checks.map((check) => [check.name, check]));
  return features
    .filter(({ only }) => only === undefined || (only === 'hosted') === subject.isHosted)
    .map(({ surface, feature, needs }) => {
      const rejection = findRejection(surface, checks, subject);
      if (rejection !== null) return { surface, feature, status: 'off', because: rejection };
      const parts = needs.flatMap((name) => found.get(name) ?? []);
      const missing = parts.find(({ effect }) => effect === 'prevents');
      const weak = parts.find(({ effect }) => effect === 'limits');
      return {
        surface,
        feature,
        status: missing ? 'off' : weak ? 'limited' : 'works',
        because: (missing ?? weak)?.name ?? null,
      };
    });
}
