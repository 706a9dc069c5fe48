import * as z from 'zod';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { listStores } from '../../records/repositories/stores.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { repositoryInput } from '../base/input.ts';
import { timestamp } from '../base/shapes.ts';

const repositoryStores = z
  .object({
    data: z.array(
      z.object({
        store: z.string().meta({
          description: 'The address of the store without parameters.',
          example: 's3://backups/git',
        }),
        version: z.int().nullable().meta({
          description:
            'The newest version in the store; null if there is none, or if versions have no numbers.',
        }),
        stored_at: timestamp.nullable().meta({ description: 'When that version was stored.' }),
        versions_behind: z.int().nullable().meta({
          description:
            'How many versions the archive has that are newer than that; 0 if it is the newest. Null if the store has none, or if versions have no numbers.',
        }),
        failing_since: timestamp.nullable().meta({
          description:
            'Since when storing has failed or the store was unreachable; null if storing works.',
        }),
        unused_since: timestamp.nullable().meta({
          description:
            'Since when the repository has been backed up without this store, because it is no longer in BACKUP_STORES; null if it is used.',
        }),
        reason: z.string().meta({
          description: 'Why storing failed, at most 1,000 characters; empty if it works.',
        }),
      }),
    ),
  })
  .meta({ id: 'RepositoryStores', description: 'Where a repository is stored off-site.' });

/** GET /api/repos/:owner/:name/stores. */
export const storesEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      method: 'get',
      tag: 'Repositories',
      access: 'reader',
      path: '/api/repos/:owner/:name/stores',
      summary: 'List the stores of one repository, those that fail or are behind first',
      description:
        'What the stores of BACKUP_STORES hold of the repository. Empty if nothing was ever stored, or if the repository is unknown. The name matches in any letter case.',
      params: repositoryInput,
      responses: { 200: { description: 'At most 100 stores.', schema: repositoryStores } },
    },
    async ({ params }, { db }: BackupsDeps, c) =>
      c.json({ data: await listStores(db, `${params.owner}/${params.name}`) }),
  ),
];
