import type { Context } from 'hono';
import * as z from 'zod';
import { type ConfiguredSource, readSource } from '../config/sources.ts';
import { AppError } from '../errors.ts';
import type { HttpEnv } from '../http/env.ts';
import { plainError } from '../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { judgingNow } from '../records/repositories/repository-states.ts';
import { listNamedOnlyBy } from '../records/sources/named-only.ts';
import { listSourceOutcomes, type SourceOutcome } from '../records/sources/outcomes.ts';
import {
  addSource,
  changeSource,
  LOGIN_ID,
  listSources,
  MAX_EXCLUDED,
  MAX_SOURCES,
  removeSource,
  type TrackedSource,
} from '../records/sources/sources.ts';
import type { SourceTrial } from '../records/sources/trial.ts';
import { patternFault } from '../text/name-pattern.ts';
import { AddressError } from '../text/source-address.ts';
import type { BackupsDeps } from './base/backups-deps.ts';
import { callerName } from './base/caller-name.ts';
import { removeSourceInput, sourceIdInput, storableText } from './base/input.ts';
import { timestamp } from './base/shapes.ts';
import { forgetSeveral, forgetting } from './repositories/forget.ts';

const MAX_ADDRESS = 2_000;
/** How many addresses one request can add. */
const MAX_AT_ONCE = 100;
/** How many repositories of a folder are listed. */
const MAX_HELD = 1_000;

const source = z
  .object({
    id: z.int().meta({
      description: '0 for the login; negative for a source of BACKUP_SOURCES that was not added.',
    }),
    kind: z.enum(['login', 'folder', 'address']).meta({
      description:
        'login: everything that the login discovers. folder: a path of the machine that backs up, of a repository or of a folder that holds some.',
    }),
    address: z.string().meta({ description: 'Without credentials. Empty for the login.' }),
    exclude: z.array(z.string()).meta({
      description: 'Patterns of the repositories in it that are left out.',
    }),
    set_by: z.enum(['BACKUP_SOURCES']).nullable().meta({
      description: 'The variable that sets it, so that it cannot be changed here.',
    }),
    paused_at: timestamp.nullable(),
    paused_by: z.string().nullable(),
    created_at: timestamp.nullable(),
    created_by: z.string().nullable(),
    repositories: z.int().meta({ description: 'How many tracked repositories it names.' }),
    failing: z.int().meta({ description: 'How many of these cannot be backed up now.' }),
    last_read_at: timestamp.nullable().meta({ description: 'When a run last read one of them.' }),
    fault: z
      .object({ run_id: z.int(), at: timestamp, reason: z.string() })
      .nullable()
      .meta({ description: 'Why the last run that tried could not read the source.' }),
  })
  .meta({ id: 'Source' });

const trial = z
  .object({
    kind: z.enum(['repository', 'folder']),
    address: z.string().meta({ description: 'As it would be saved.' }),
    name: z.string().nullable().meta({ description: 'What the repository would be named.' }),
    refs: z.int().nullable(),
    size_bytes: z.int().nullable().meta({ description: 'Null if it is not known.' }),
    repositories: z
      .array(z.object({ address: z.string(), name: z.string() }))
      .meta({ description: `The repositories in a folder, at most ${MAX_HELD}.` }),
    total_repositories: z.int(),
  })
  .meta({ id: 'SourceTrial' });

const address = storableText(MAX_ADDRESS).trim().min(1).meta({
  description:
    'An https://, ssh:// or user@host:path address without credentials, or an absolute path of the machine of the server.',
});
const patterns = z
  .array(
    z.string().superRefine((text, context) => {
      const fault = patternFault(text);
      if (fault !== null) context.addIssue(fault);
    }),
  )
  .max(MAX_EXCLUDED)
  .meta({ description: 'Patterns such as old-* or team/*; only for a folder or the login.' });

const common = { tag: 'Sources', path: '/api/sources' } as const;
const elsewhere = {
  description:
    'A variable sets it, it is a source already, or this server has no machine that backs up, as a deployed function.',
  schema: plainError,
};
const unknown = { description: 'No such source.', schema: plainError };

/** GET and POST /api/sources, POST /api/sources/try, PATCH and DELETE /api/sources/:id. */
export const sourcesEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      access: 'reader',
      summary: 'List what is backed up, with what came of it',
      responses: {
        200: {
          description: 'The login first, then the sources of BACKUP_SOURCES, then those added.',
          schema: z
            .object({
              may_try: z.boolean().meta({
                description: 'Whether sources can be added here: not in a deployed function.',
              }),
              data: z.array(source),
            })
            .meta({ id: 'Sources' }),
        },
      },
    },
    async (_input, deps: BackupsDeps, c) => {
      const data = (await readOutcomes(deps)).map(show);
      return c.json({ may_try: deps.trySource !== null, data });
    },
  ),
  endpoint(
    {
      ...common,
      path: '/api/sources/try',
      method: 'post',
      access: 'administrator',
      isReading: true,
      summary: 'Try an address or a folder, without adding it',
      description:
        'Whether it can be reached, whether the login of git is accepted, and what is there. Names private addresses and folders of the machine, but no link-local address, and follows no redirect. Takes at most a minute.',
      body: { encoding: 'json', schema: z.object({ address }).meta({ id: 'TriedSource' }) },
      responses: {
        200: { description: 'It can be backed up.', schema: trial },
        409: elsewhere,
      },
    },
    async ({ body }, deps: BackupsDeps, c) => {
      const found = await tryOne(deps, body.address, c.req.raw.signal);
      if (found.kind === 'refused') throw refusal([['address', found.reason]]);
      return c.json(showTrial(found));
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      access: 'administrator',
      summary: 'Add sources, once each was tried',
      description: 'If one is refused, none is added, and details says why.',
      body: {
        encoding: 'json',
        schema: z
          .object({
            addresses: z.array(address).min(1).max(MAX_AT_ONCE),
            exclude: patterns.default([]),
          })
          .meta({ id: 'NewSources' }),
      },
      responses: {
        201: {
          description: 'The sources.',
          schema: z.object({ data: z.array(source) }).meta({ id: 'AddedSources' }),
        },
        409: elsewhere,
      },
    },
    async ({ body: { addresses, exclude } }, deps: BackupsDeps, c) => {
      const chosen: ConfiguredSource[] = [];
      const faults: [string, string][] = [];
      for (const [index, text] of addresses.entries()) {
        const found = await tryOne(deps, text, c.req.raw.signal);
        if (found.kind === 'refused') faults.push([`addresses.${index}`, found.reason]);
        else chosen.push(found.source);
      }
      if (faults.length > 0) throw refusal(faults);
      const known = await listSources(deps.db, deps.config.BACKUP_SOURCES);
      for (const { key, address: text } of chosen) {
        const same = known.find((one) => one.key === key);
        if (same === undefined) continue;
        const by = same.setBy === null ? 'is a source already' : `is set by ${same.setBy}`;
        throw new AppError('CONFLICT', `${text} ${by}`);
      }
      const ids: number[] = [];
      for (const one of chosen) {
        const patternsOf = one.kind === 'folder' ? exclude : [];
        const added = await addSource(deps.db, one, { exclude: patternsOf, by: callerName(c) });
        if (added === 'full') {
          throw new AppError('CONFLICT', `there are already ${MAX_SOURCES} sources`);
        }
        if (added === 'taken') continue;
        ids.push(added);
        logChange(c, deps, 'a source was added', one.address);
      }
      const data = (await readOutcomes(deps)).filter(({ id }) => ids.includes(id)).map(show);
      return c.json({ data }, 201);
    },
  ),
  endpoint(
    {
      ...common,
      path: '/api/sources/:id',
      method: 'patch',
      access: 'administrator',
      summary: 'Pause or resume a source, or change its patterns',
      description: 'Takes effect with the next run. What is paused or left out keeps its archives.',
      params: sourceIdInput,
      body: {
        encoding: 'json',
        schema: z
          .object({ is_paused: z.boolean().optional(), exclude: patterns.optional() })
          .meta({ id: 'SourceChange' }),
      },
      responses: {
        200: { description: 'The source.', schema: source },
        404: unknown,
        409: elsewhere,
      },
    },
    async ({ params, body }, deps: BackupsDeps, c) => {
      const { is_paused: paused, exclude } = body;
      const found = await findChangeable(deps, params.id);
      if (found.kind === 'address' && exclude !== undefined && exclude.length > 0) {
        throw refusal([['exclude', 'only a folder or the login can have patterns']]);
      }
      if (!(await changeSource(deps.db, params.id, { paused, exclude }, callerName(c))))
        throw notFound();
      const what =
        paused === undefined
          ? 'the patterns of a source were changed'
          : `a source was ${paused ? 'paused' : 'resumed'}`;
      logChange(c, deps, what, nameOf(found));
      const changed = (await readOutcomes(deps)).find(({ id }) => id === params.id);
      if (changed === undefined) throw notFound();
      return c.json(show(changed));
    },
  ),
  endpoint(
    {
      ...common,
      path: '/api/sources/:id',
      method: 'delete',
      access: 'administrator',
      summary: 'Remove a source, and forget what only it names',
      description:
        'Like forgetting each repository that no other source names: their archives stay. If nothing is kept of one, this must be confirmed with nothing_kept. With dry_run, nothing changes.',
      params: sourceIdInput,
      query: removeSourceInput,
      responses: {
        200: {
          description: 'The removed source, and what became of its repositories.',
          schema: z
            .object({ id: z.int(), repositories: z.array(forgetting) })
            .meta({ id: 'RemovedSource' }),
        },
        404: unknown,
        409: {
          description:
            'A variable sets it, it is the login, or nothing is kept of a repository and the request does not say that this is known.',
          schema: plainError,
        },
      },
    },
    async ({ params: { id }, query }, deps: BackupsDeps, c) => {
      const found = await findChangeable(deps, id);
      if (id === LOGIN_ID) {
        throw new AppError('CONFLICT', 'the login cannot be removed: pause it, or log out');
      }
      const all = await listSources(deps.db, deps.config.BACKUP_SOURCES);
      const names = await listNamedOnlyBy(deps.db, found, all);
      const how = { by: callerName(c), signal: c.req.raw.signal };
      const nothingKept = query.nothing_kept === true ? names : [];
      const look = await forgetSeveral(deps, names, { ...how, nothingKept, isDryRun: true });
      if (query.dry_run === true) return c.json({ id, repositories: look });
      const refused = look.filter(({ outcome }) => outcome === 'nothing_kept');
      if (refused.length > 0) {
        const which = refused.map(({ full_name }) => full_name).slice(0, 5);
        const text = `nothing is kept of ${which.join(', ')}; to remove it, set nothing_kept=true`;
        throw new AppError('CONFLICT', text);
      }
      // Removed first: a run must not track again what is forgotten.
      if (!(await removeSource(deps.db, id))) throw notFound();
      const repositories = await forgetSeveral(deps, names, {
        ...{ ...how, nothingKept, isDryRun: false },
      });
      logChange(c, deps, 'a source was removed', nameOf(found));
      return c.json({ id, repositories });
    },
  ),
];

function readOutcomes({ db, config, clock }: BackupsDeps): Promise<SourceOutcome[]> {
  const judging = judgingNow({ config, clock });
  return listSourceOutcomes(db, config.BACKUP_SOURCES, judging, config.GIT_HOST_URL);
}

function show(one: SourceOutcome): z.input<typeof source> {
  const { id, kind, address, exclude, repositories, failing, fault } = one;
  return {
    ...{ id, kind, address, exclude, set_by: one.setBy },
    ...{ paused_at: one.pausedAt, paused_by: one.pausedBy },
    ...{ created_at: one.createdAt, created_by: one.createdBy },
    ...{ repositories, failing, last_read_at: one.lastReadAt },
    fault: fault && { run_id: fault.runId, at: fault.at, reason: fault.reason },
  };
}

function showTrial(found: Exclude<SourceTrial, { kind: 'refused' }>): z.input<typeof trial> {
  const { kind, source } = found;
  if (found.kind === 'folder') {
    const { repositories } = found;
    return {
      ...{ kind, address: source.address, name: null, refs: null, size_bytes: null },
      ...{ repositories: repositories.slice(0, MAX_HELD), total_repositories: repositories.length },
    };
  }
  const { name, refs, sizeBytes } = found;
  return {
    ...{ kind, address: source.address, name, refs, size_bytes: sizeBytes },
    ...{ repositories: [], total_repositories: 0 },
  };
}

async function tryOne(
  { trySource, config }: BackupsDeps,
  text: string,
  signal: AbortSignal,
): Promise<SourceTrial> {
  if (trySource === null) {
    throw new AppError(
      'CONFLICT',
      'this server has no machine that backs up: on the one that does, run `npm run worker -- sources add ADDRESS`',
    );
  }
  const own = config.BACKUP_SOURCES.find(({ key }) => key === keyOf(text));
  if (own !== undefined) throw new AppError('CONFLICT', `${own.address} is set by BACKUP_SOURCES`);
  return trySource(text, signal);
}

/** Null for an address that is not valid, which the trial explains. */
function keyOf(text: string): string | null {
  try {
    return readSource(text, '/').key;
  } catch (error) {
    if (error instanceof AddressError) return null;
    throw error;
  }
}

function refusal(faults: readonly [path: string, message: string][]): AppError {
  const details = faults.map(([path, message]) => ({ path, message }));
  return new AppError('VALIDATION_ERROR', faults.map(([, message]) => message).join('; '), {
    details,
  });
}

async function findChangeable({ db, config }: BackupsDeps, id: number): Promise<TrackedSource> {
  const found = (await listSources(db, config.BACKUP_SOURCES)).find((one) => one.id === id);
  if (found === undefined) throw notFound();
  if (found.setBy === null) return found;
  throw new AppError('CONFLICT', `the source is set by ${found.setBy}: change it there`);
}

const nameOf = ({ kind, address }: TrackedSource) => (kind === 'login' ? 'login' : address);

function notFound(): AppError {
  return new AppError('NOT_FOUND', 'there is no such source');
}

function logChange(c: Context<HttpEnv>, { log }: BackupsDeps, what: string, address: string): void {
  log.info(what, { request_id: c.get('requestId'), by: callerName(c), source: address });
}
