import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { listVersions, readVersionRefs } from '../../records/repositories/versions.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { refsInput, repositoryInput, versionInput, versionsInput } from '../base/input.ts';
import { sendJson, sendPage } from '../base/json.ts';
import { listOf } from '../base/shapes.ts';
import { archiveVersion, versionRefs } from './version-shapes.ts';

const BASE = '/api/repos/:owner/:name/versions';

const common = { method: 'get', tag: 'Repositories', access: 'reader' } as const;

/** GET /api/repos/:owner/:name/versions and …/versions/:id/refs. */
export const versionsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      path: BASE,
      summary: 'List the versions of one repository, newest first',
      description:
        'Each run that found a change added a version. The name matches in any letter case. Archives of earlier releases have no versions.',
      params: repositoryInput,
      query: versionsInput,
      responses: {
        200: { description: 'A page of versions.', schema: listOf(archiveVersion) },
        404: { description: 'No such repository.', schema: plainError },
      },
    },
    async ({ params, query }, { db }: BackupsDeps, c) => {
      const { owner, name } = params;
      const { before, until } = query;
      const selection = { before, until, withPruned: query.pruned === true };
      const page = await listVersions(db, `${owner}/${name}`, query, selection);
      if (page === null) throw new AppError('NOT_FOUND', 'repository not found');
      return sendPage(c, page, query);
    },
  ),
  endpoint(
    {
      ...common,
      path: `${BASE}/:id/refs`,
      summary: 'List where the branches and tags of a version pointed, by name',
      params: versionInput,
      query: refsInput,
      responses: {
        200: { description: 'The version and its refs.', schema: versionRefs },
        404: {
          description: 'No such version, or retention has pruned it.',
          schema: plainError,
        },
      },
    },
    async ({ params, query }, { db }: BackupsDeps, c) => {
      const { owner, name, id } = params;
      const found = await readVersionRefs(db, `${owner}/${name}`, id, query);
      if (found === null) throw new AppError('NOT_FOUND', 'version not found');
      if (found === 'pruned') throw new AppError('NOT_FOUND', 'the version was pruned');
      return sendJson(c, found.item);
    },
  ),
];
