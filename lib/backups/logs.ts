import { type Endpoint, endpoint } from '../http/route.ts';
import { listLogs } from '../records/logs.ts';
import type { BackupsDeps } from './backups-deps.ts';
import { logsInput } from './input.ts';
import { sendPage } from './json.ts';
import { listOf, log } from './shapes.ts';

/** GET /api/logs. */
export const logsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      method: 'get',
      path: '/api/logs',
      tag: 'Logs',
      access: 'reader',
      summary: 'List execution logs, newest first',
      description:
        "With a filter total_items is exact. Without one it is exact below 10,000; above that it is the database planner's estimate.",
      query: logsInput,
      responses: { 200: { description: 'A page of logs.', schema: listOf(log) } },
    },
    async ({ query }, { db }: BackupsDeps, c) => {
      const filter = { level: query.level, runId: query.run_id };
      return sendPage(c, await listLogs(db, query, filter), query);
    },
  ),
];
