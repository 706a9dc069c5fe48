import { type Endpoint, endpoint } from '../http/route.ts';
import { listRepos } from '../records/repos.ts';
import type { BackupsDeps } from './backups-deps.ts';
import { pageInput } from './input.ts';
import { sendPage } from './json.ts';
import { listOf, trackedRepository } from './shapes.ts';

/** GET /api/repos. */
export const reposEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      method: 'get',
      path: '/api/repos',
      tag: 'Repositories',
      access: 'reader',
      summary: 'List tracked repositories, largest archive first',
      description: 'One entry per repository, from its newest result.',
      query: pageInput,
      responses: {
        200: { description: 'A page of repositories.', schema: listOf(trackedRepository) },
      },
    },
    async ({ query }, { db }: BackupsDeps, c) => sendPage(c, await listRepos(db, query), query),
  ),
];
