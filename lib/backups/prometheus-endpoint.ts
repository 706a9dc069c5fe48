import * as z from 'zod';
import { type Endpoint, endpoint } from '../http/route.ts';
import type { BackupsDeps } from './backups-deps.ts';
import { metricsInput } from './input.ts';

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
      summary: 'Read the metrics of the process',
      description: 'Prometheus text, or JSON with format=json. Requests are labeled by route.',
      query: metricsInput,
      responses: {
        200: {
          description: 'The metrics.',
          schema: families,
          contentType: 'text/plain',
        },
      },
    },
    async ({ query }, { metrics }: BackupsDeps, c) =>
      query.format === 'json'
        ? c.json(await metrics.json())
        : c.body(await metrics.render(), 200, { 'Content-Type': metrics.contentType }),
  ),
];
