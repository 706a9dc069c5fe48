import { Registry } from 'prom-client';
import * as z from 'zod';
import { ruleNames } from '../../alerts/rules/rule.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { readIncidentMetrics } from '../../records/prometheus/incidents.ts';
import { readRepositoryMetrics } from '../../records/prometheus/repositories.ts';
import { readMetricsOfRuns } from '../../records/prometheus/runs.ts';
import { judgingNow } from '../../records/repositories/repository-states.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { metricsInput } from '../base/input.ts';
import { addGauge } from './gauges.ts';
import { addRepositoryGauges } from './repository-gauges.ts';
import { addIncidentGauges, addRunGauges } from './run-gauges.ts';

/** By default a scrape times out after 10 seconds, and the embedded database runs one statement at a time. */
const READ_WITHIN_MS = 3_000;

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
      summary: 'Read the metrics of the process, repositories, runs and incidents',
      description:
        'Prometheus text, or JSON with format=json. Requests are labeled by route. While the database is down, backup_database_up is 0, and the other backup metrics have no values. With more tracked repositories than METRICS_REPOSITORIES, none has its own series.',
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
      const ofBackups = await readBackupMetrics(deps);
      return query.format === 'json'
        ? c.json(await metrics.json(ofBackups))
        : c.body(await metrics.render(ofBackups), 200, { 'Content-Type': metrics.contentType });
    },
  ),
];

/** Has no values while the database is down, so that the metrics of the process, needed most then, are still served. */
async function readBackupMetrics(deps: BackupsDeps): Promise<Registry> {
  const { db, config, warnNotReady } = deps;
  const max = config.METRICS_REPOSITORIES;
  const judging = judgingNow(deps);
  const orNull = async <Metrics>(reading: Promise<Metrics>): Promise<Metrics | null> => {
    try {
      return await reading;
    } catch (error) {
      warnNotReady('the backup metrics could not be read', { error });
      return null;
    }
  };
  const [repositories, runs, incidents] = await Promise.all([
    orNull(readRepositoryMetrics(db, judging, { max, timeoutMs: READ_WITHIN_MS })),
    orNull(readMetricsOfRuns(db, judging, READ_WITHIN_MS)),
    orNull(readIncidentMetrics(db, READ_WITHIN_MS)),
  ]);
  const registry = new Registry();
  const isUp = repositories !== null && runs !== null && incidents !== null;
  addGauge(
    registry,
    'backup_database_up',
    '1 if the database answered this scrape, within 3 seconds for each statement.',
    [[Number(isUp)]],
  );
  addRepositoryGauges(registry, repositories, max);
  addRunGauges(registry, runs);
  addIncidentGauges(registry, incidents, ruleNames);
  return registry;
}
