import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { listRepositoryHistory } from '../../records/repositories/history.ts';
import { listRepositories, readRepository } from '../../records/repositories/list.ts';
import { judgingNow } from '../../records/repositories/repository-states.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { pageInput, reposInput, repositoryInput } from '../base/input.ts';
import { sendJson, sendPage } from '../base/json.ts';
import { listOf, repositoryDetails, result, trackedRepository } from '../base/shapes.ts';

const common = { method: 'get', tag: 'Repositories', access: 'reader' } as const;
const notFound = { description: 'No such repository.', schema: plainError };

/** GET /api/repos, /api/repos/:owner/:name and its history. */
export const reposEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      path: '/api/repos',
      summary: 'List tracked repositories, each with its state',
      description: 'One entry per repository, based on its newest result.',
      query: reposInput,
      responses: {
        200: { description: 'A page of repositories.', schema: listOf(trackedRepository) },
      },
    },
    async ({ query }, deps: BackupsDeps, c) => {
      const { off_site: offSite, reverse: isReverse, ...rest } = query;
      const selection = { ...rest, offSite, isReverse, ...judgingNow(deps) };
      return sendPage(c, await listRepositories(deps.db, query, selection), query);
    },
  ),
  endpoint(
    {
      ...common,
      path: '/api/repos/:owner/:name',
      summary: 'Read one repository with its state',
      description: 'The name matches in any letter case.',
      params: repositoryInput,
      responses: {
        200: { description: 'The repository.', schema: repositoryDetails },
        404: notFound,
      },
    },
    async ({ params }, deps: BackupsDeps, c) => {
      const found = await readRepository(deps.db, fullName(params), judgingNow(deps));
      if (found === null) throw noSuchRepository();
      return sendJson(c, found);
    },
  ),
  endpoint(
    {
      ...common,
      path: '/api/repos/:owner/:name/history',
      summary: 'List the results of one repository, newest first',
      description:
        'The name matches in any letter case. A run that finds the repository unchanged adds no result. An error message is cut to 4,000 characters.',
      params: repositoryInput,
      query: pageInput,
      responses: {
        200: { description: 'A page of results.', schema: listOf(result) },
        404: notFound,
      },
    },
    async ({ params, query }, { db }: BackupsDeps, c) => {
      const page = await listRepositoryHistory(db, fullName(params), query);
      if (page.totalItems === 0) throw noSuchRepository();
      return sendPage(c, page, query);
    },
  ),
];

function fullName({ owner, name }: { owner: string; name: string }): string {
  return `${owner}/${name}`;
}

function noSuchRepository(): AppError {
  return new AppError('NOT_FOUND', 'repository not found');
}
