import * as z from 'zod';
import { type Endpoint, endpoint } from '../http/route.ts';
import { countStates } from '../records/repositories/list.ts';
import type { BackupsDeps } from './backups-deps.ts';
import { judgingNow } from './freshness.ts';
import { metricsInput } from './input.ts';

/** A scrape ends after 10 seconds by default. */
const STATES_WITHIN_MS = 3_000;

const families = z
  .array(
    z.object({
      name: z.string(),
      help: z.string(),
      type: z.string(),
      values: z.array(
        z.object({
          name: z.string().optional(),
          labels: z.record(z.string(), z.union([z.string(), z.number()])),
          value: z.number().nullable().meta({ description: 'Null if nothing was measured.' }),
        }),
      ),
    }),
  )
  .meta({ id: 'MetricFamilies' });

/** GET /metrics. */
export const metricsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      method: 'get',
      path: '/metrics',
      tag: 'Health',
      access: 'internal',
      summary: 'Read the metrics of the process, and how many repositories are in each state',
      description:
        'Prometheus text, or JSON with format=json. Requests are labeled by route. backup_repositories has no values while the database is away.',
      query: metricsInput,
      responses: {
        200: {
          description: 'The metrics.',
          schema: families,
          contentType: 'text/plain',
        },
      },
    },
    async ({ query }, deps: BackupsDeps, c) => {
      const { metrics } = deps;
      metrics.setRepositories(await readCounts(deps));
      return query.format === 'json'
        ? c.json(await metrics.json())
        : c.body(await metrics.render(), 200, { 'Content-Type': metrics.contentType });
    },
  ),
];

/** Null while the database is away: the metrics of the process are wanted then more than ever. */
async function readCounts(deps: BackupsDeps): Promise<Record<string, number> | null> {
  try {
    const { total: _, ...states } = await countStates(deps.db, judgingNow(deps), STATES_WITHIN_MS);
    return states;
  } catch (error) {
    deps.warnNotReady('the metrics lack the states of repositories', { error });
    return null;
  }
}
