import * as z from 'zod';
import { NoArchive } from '../../archives/base/archive-fault.ts';
import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import {
  describeKept,
  findRepositories,
  forgetRepositories,
  type LookedAt,
  listKept,
  lookAtKept,
  rememberRepository,
} from '../../records/repositories/forgotten.ts';
import { readRepository } from '../../records/repositories/list.ts';
import { judgingNow } from '../../records/repositories/repository-states.ts';
import type { ServedArchives } from '../base/archives-deps.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { callerName } from '../base/caller-name.ts';
import { evaluateNow } from '../base/evaluate-now.ts';
import { forgetInput, forgetSeveralInput, repositoryInput } from '../base/input.ts';
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

/** What became of a repository that was to be forgotten. */
export const forgetting = z
  .object({
    full_name: z.string().meta({ description: 'The name as in the request.' }),
    outcome: z.enum(['forgotten', 'nothing_kept', 'not_found']).meta({
      description:
        'nothing_kept: not forgotten, because nothing of it is kept and the request does not say that this is known. not_found: there is no such repository. With dry_run, what would happen.',
    }),
    is_kept: z.boolean().meta({ description: 'Whether something of it is known to be kept.' }),
    detail: z.string().meta({
      description: 'What is kept, or why it was not forgotten, in a sentence.',
    }),
  })
  .meta({ id: 'Forgetting' });

const forgettings = z
  .object({
    data: z
      .array(forgetting)
      .meta({ description: 'One for each repository, in the order of the request.' }),
  })
  .meta({ id: 'Forgettings' });

/** POST /api/repos/forget, and POST and DELETE /api/repos/:owner/:name/forget. */
export const forgetEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      method: 'post',
      path: '/api/repos/forget',
      tag: 'Repositories',
      access: 'identified',
      summary: 'Forget several repositories that were removed on purpose',
      description:
        'Like forgetting each of them. One that cannot be forgotten does not stop the others: the response names it and says why. With dry_run, nothing is forgotten, and the response says what is kept of each.',
      body: { encoding: 'json', schema: forgetSeveralInput },
      responses: { 200: { description: 'What was forgotten, and what not.', schema: forgettings } },
    },
    async ({ body }, deps: BackupsDeps, c) => {
      const { names, nothing_kept: nothingKept, dry_run: isDryRun } = body;
      const how = { nothingKept, isDryRun, by: callerName(c), signal: c.req.raw.signal };
      return c.json({ data: await forgetSeveral(deps, names, how) });
    },
  ),
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
      const forgotten = await forgetRepositories(deps.db, [name], callerName(c));
      if (forgotten.length > 0) await evaluateNow(deps, rules);
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

interface ForgetOptions {
  /** The names of which it is known that nothing is kept. */
  nothingKept: readonly string[];
  /** Whether to say only what would happen. */
  isDryRun: boolean;
  by: string;
  signal: AbortSignal;
}

/** Forgets repositories, and says of each what is kept. One of which nothing is kept stays, unless that is known. */
export async function forgetSeveral(
  deps: BackupsDeps,
  names: readonly string[],
  { nothingKept, isDryRun, by, signal }: ForgetOptions,
): Promise<z.input<typeof forgetting>[]> {
  const kept = groupByName(await look(deps, names, signal));
  const known = new Set(nothingKept.map((name) => name.toLowerCase()));
  const isRefused = (name: string) =>
    kept.get(name.toLowerCase())?.isNothingKept === true && !known.has(name.toLowerCase());
  const allowed = names.filter((name) => !isRefused(name));
  const changed = await (isDryRun
    ? findRepositories(deps.db, allowed)
    : forgetRepositories(deps.db, allowed, by));
  if (!isDryRun && changed.length > 0) await evaluateNow(deps, rules);
  const forgotten = new Set(changed.map((name) => name.toLowerCase()));
  return names.map((full_name) => {
    const one = kept.get(full_name.toLowerCase());
    const detail = one === undefined ? 'It was forgotten before.' : describeKept(one);
    const is_kept = one?.isNothingKept === false;
    if (isRefused(full_name)) return { full_name, outcome: 'nothing_kept', is_kept, detail };
    return forgotten.has(full_name.toLowerCase())
      ? { full_name, outcome: 'forgotten', is_kept, detail }
      : { full_name, outcome: 'not_found', is_kept: false, detail: 'No such repository.' };
  });
}

/** Throws CONFLICT if nothing is kept, also if the archive is gone since a run last looked. */
async function checkKept(deps: BackupsDeps, name: string, signal: AbortSignal): Promise<void> {
  const [one] = await look(deps, [name], signal);
  if (one?.isNothingKept !== true) return;
  const why =
    one.missing === null
      ? 'it was never backed up'
      : `its archive is gone (${one.missing.text}), and no store has a copy`;
  throw new AppError('CONFLICT', `nothing is kept: ${why}; to forget it, set nothing_kept=true`);
}

/** What is kept of the tracked repositories with these names. */
async function look(
  { db, archives }: BackupsDeps,
  names: readonly string[],
  signal: AbortSignal,
): Promise<LookedAt[]> {
  const recorded = await listKept(db, names);
  const served = (await archives?.explainMissing()) === null ? archives : null;
  return lookAtKept(recorded, async (name, key) =>
    served === null || (await isThere(served, name, signal))
      ? null
      : { kind: 'bundle', text: `${key} is missing` },
  );
}

/** Whether there is something of an archive in the archive folder. */
async function isThere(
  archives: ServedArchives,
  name: string,
  signal: AbortSignal,
): Promise<boolean> {
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

/** The repositories by their names in lower case: of several spellings, one that has something kept. */
function groupByName(looked: readonly LookedAt[]): ReadonlyMap<string, LookedAt> {
  const hasSomething = (one: LookedAt) =>
    one.copies.length > 0 || (one.missing === null && one.wasRead);
  const sorted = looked.toSorted((a, b) => Number(hasSomething(a)) - Number(hasSomething(b)));
  return new Map(sorted.map((one) => [one.name.toLowerCase(), one]));
}

async function read(deps: BackupsDeps, name: string): Promise<string> {
  const found = await readRepository(deps.db, name, judgingNow(deps));
  if (found === null) throw new AppError('NOT_FOUND', 'repository not found');
  return found;
}
