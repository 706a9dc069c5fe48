import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { forgetRepository, rememberRepository } from '../../records/repositories/forgotten.ts';
import { readRepository } from '../../records/repositories/list.ts';
import { judgingNow } from '../../records/repositories/repository-states.ts';
import type { BackupsDeps } from '../backups-deps.ts';
import { callerName } from '../caller-name.ts';
import { evaluateNow } from '../evaluate-now.ts';
import { repositoryInput } from '../input.ts';
import { sendJson } from '../json.ts';
import { repositoryDetails } from '../shapes.ts';

/** The rules whose incidents name tracked repositories. */
const rules = [
  'repository_stale',
  'repository_failing',
  'destination_unreachable',
  'login_expired',
] as const;

const common = {
  path: '/api/repos/:owner/:name/forget',
  tag: 'Repositories',
  access: 'identified',
  params: repositoryInput,
  responses: {
    200: { description: 'The repository.', schema: repositoryDetails },
    404: { description: 'No such repository.', schema: plainError },
  },
} as const;

/** POST and DELETE /api/repos/:owner/:name/forget. */
export const forgetEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'post',
      summary: 'Forget a repository that was removed on purpose',
      description:
        'It is no longer tracked, counted or reported as missing, until a run records something about it. Its backups are kept. Recorded with the name of the caller.',
    },
    async ({ params }, deps: BackupsDeps, c) => {
      const name = `${params.owner}/${params.name}`;
      if (await forgetRepository(deps.db, name, callerName(c))) await evaluateNow(deps, rules);
      return sendJson(c, await read(deps, name));
    },
  ),
  endpoint(
    {
      ...common,
      method: 'delete',
      summary: 'Track a forgotten repository again',
      description: 'Does nothing if the repository is not forgotten.',
    },
    async ({ params }, deps: BackupsDeps, c) => {
      const name = `${params.owner}/${params.name}`;
      if (await rememberRepository(deps.db, name)) await evaluateNow(deps, rules);
      return sendJson(c, await read(deps, name));
    },
  ),
];

async function read(deps: BackupsDeps, name: string): Promise<string> {
  const found = await readRepository(deps.db, name, judgingNow(deps));
  if (found === null) throw new AppError('NOT_FOUND', 'repository not found');
  return found;
}
