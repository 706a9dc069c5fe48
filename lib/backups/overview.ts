import { type Endpoint, endpoint } from '../http/route.ts';
import { readOverview } from '../records/overview.ts';
import { judgingNow } from '../records/repositories/repository-states.ts';
import type { BackupsDeps } from './base/backups-deps.ts';
import { sendJson } from './base/json.ts';
import { overview } from './base/overview-shapes.ts';

/** GET /api/overview. */
export const overviewEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      method: 'get',
      tag: 'Dashboard',
      access: 'reader',
      path: '/api/overview',
      summary: 'Read whether everything is backed up',
      description:
        'Counts repositories by state, and lists the worst of them and the runs: the one under way, the last finished, the last good and the next one.',
      responses: { 200: { description: 'The overview.', schema: overview } },
    },
    async (_input, deps: BackupsDeps, c) =>
      sendJson(c, await readOverview(deps.db, judgingNow(deps), deps.scheduler !== null)),
  ),
];
