import { findRefusal } from './refusals.ts';
import type { Check, Feature } from './report.ts';
import type { Subject } from './subject.ts';

/** What a feature needs, by names of checks. */
interface Need {
  surface: Feature['surface'];
  feature: string;
  needs: readonly string[];
  /** Only in a deployment, or only on a machine of one's own. */
  only?: 'hosted' | 'local';
}

const data = ['database', 'migrations', 'unfinished_move'];

const features: readonly Need[] = [
  {
    surface: 'service API',
    feature: 'runs, results, logs and figures',
    needs: ['INTERNAL_SECRET', ...data],
  },
  {
    surface: 'service API',
    feature: 'ending of runs whose worker died',
    needs: ['CRON_SECRET', ...data],
    only: 'hosted',
  },
  {
    surface: 'service API',
    feature: 'limits that all instances count together',
    needs: ['redis'],
    only: 'hosted',
  },
  {
    surface: 'live feed',
    feature: 'new logs as they are written',
    needs: ['INTERNAL_SECRET', ...data],
  },
  {
    surface: 'observatory',
    feature: 'login and sessions',
    needs: ['JWT_SECRET', 'users', ...data],
  },
  { surface: 'observatory', feature: 'search by words', needs: ['JWT_SECRET', ...data] },
  {
    surface: 'observatory',
    feature: 'search by vectors',
    needs: ['JWT_SECRET', ...data, 'vectors'],
  },
  { surface: 'observatory', feature: 'chat', needs: ['JWT_SECRET', ...data, 'gateway'] },
  {
    surface: 'observatory',
    feature: "users' own gateway keys",
    needs: ['JWT_SECRET', ...data, 'CREDENTIALS_ENCRYPTION_KEY', 'stored_keys'],
  },
  { surface: 'observatory', feature: 'reports by mail', needs: ['JWT_SECRET', ...data, 'mail'] },
  { surface: 'MCP server', feature: 'tools over the network', needs: ['MCP_AUTH_TOKEN', ...data] },
  {
    surface: 'MCP server',
    feature: 'checks of archives',
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
      const refusal = findRefusal(surface, checks, subject);
      if (refusal !== null) return { surface, feature, status: 'off', because: refusal };
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
