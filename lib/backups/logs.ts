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
        'total_items is exact with a filter, and below 10,000; otherwise it is an estimate of the database.',
      query: logsInput,
      responses: { 200: { description: 'A page of logs.', schema: listOf(log) } },
    },
    async ({ query }, { db }: BackupsDeps, c) => {
      const filter = { level: query.level, runId: query.run_id };
      return sendPage(c, await listLogs(db, query, filter), query);
    },
  ),
];
