import { NoArchive } from '../../archives/base/archive-fault.ts';
import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import {
  forgetRepository,
  isNothingKept,
  listKept,
  rememberRepository,
} from '../../records/repositories/forgotten.ts';
import { readRepository } from '../../records/repositories/list.ts';
import { judgingNow } from '../../records/repositories/repository-states.ts';
import type { ServedArchives } from '../base/archives-deps.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { callerName } from '../base/caller-name.ts';
import { evaluateNow } from '../base/evaluate-now.ts';
import { forgetInput, repositoryInput } from '../base/input.ts';
import { sendJson } from '../base/json.ts';
import { repositoryDetails } from '../base/shapes.ts';

/** The rules whose incidents name tracked repositories. */
const rules = [
  'archive_lost',
  'repository_stale',
  'repository_failing',
  'destination_unreachable',
  'login_expired',
  'drill_failed',
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
        'It is no longer tracked, counted or reported as missing, until a run records something about it. What is kept of it stays. If nothing is kept, because its archive is gone or never existed and no store has a copy, this must be confirmed with nothing_kept. Recorded with the name of the caller.',
      query: forgetInput,
      responses: {
        ...common.responses,
        409: {
          description: 'Nothing of it is kept, and the request does not say that this is known.',
          schema: plainError,
        },
      },
    },
    async ({ params, query }, deps: BackupsDeps, c) => {
      const name = `${params.owner}/${params.name}`;
      if (query.nothing_kept !== true) await checkKept(deps, name, c.req.raw.signal);
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

/** Throws CONFLICT if nothing is kept, also if the archive is gone since a run last looked. */
async function checkKept(
  { db, archives }: BackupsDeps,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const found: string[] = [];
  const spellings = await listKept(db, name);
  for (const one of spellings) {
    const { archiveKey, isElsewhere } = one;
    const canLook = archiveKey !== null && !isElsewhere && archives !== null;
    const isGone = canLook && !(await isThere(archives, one.name, signal));
    const missing = one.missing ?? (isGone ? `${archiveKey} is missing` : null);
    if (!isNothingKept({ ...one, missing })) return;
    const why =
      missing === null
        ? 'it was never backed up'
        : `its archive is gone (${missing}), and no store has a copy`;
    found.push(why);
  }
  const [why] = found;
  if (why === undefined) return;
  throw new AppError('CONFLICT', `nothing is kept: ${why}; to forget it, set nothing_kept=true`);
}

/** Whether the archive is in the archive folder, if this server has it. */
async function isThere(
  archives: ServedArchives,
  name: string,
  signal: AbortSignal,
): Promise<boolean> {
  if ((await archives.explainMissing()) !== null) return true;
  try {
    await archives.describe(name, { signal });
    return true;
  } catch (error) {
    if (error instanceof NoArchive) return false;
    // Damaged, or not readable now: something is there.
    if (error instanceof AppError) return true;
    throw error;
  }
}

async function read(deps: BackupsDeps, name: string): Promise<string> {
  const found = await readRepository(deps.db, name, judgingNow(deps));
  if (found === null) throw new AppError('NOT_FOUND', 'repository not found');
  return found;
}
