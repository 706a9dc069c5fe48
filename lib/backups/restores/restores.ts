import { tmpdir } from 'node:os';
import * as z from 'zod';
import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { listRestores, readRestore, restoreStatuses } from '../../records/restores.ts';
import { restoreSteps } from '../../restore/restore-events.ts';
import { AddressError, parseSourceAddress } from '../../text/source-address.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { callerName } from '../base/caller-name.ts';
import { pageInput, runIdInput } from '../base/input.ts';
import { sendJson, sendPage } from '../base/json.ts';
import type { RestoreJobs } from '../base/restores-deps.ts';
import { listOf, timestamp } from '../base/shapes.ts';
import { folderNameFault } from './folder-name.ts';

const restored = z
  .object({
    version: z.int().nullable(),
    at: z.string(),
    refs: z.int(),
    head_branch: z.string().nullable(),
    head_commit: z.string().nullable(),
    files: z.int().meta({ description: 'Files of the archive that it needed.' }),
    size_bytes: z.int(),
    is_recorded: z
      .boolean()
      .meta({ description: 'Whether a SHA-256 of each was recorded, and compared.' }),
    unwritten: z
      .int()
      .meta({ description: 'Files that are only in the history: the disk rejects their names.' }),
  })
  .nullable();

const pushed = z
  .object({
    same: z.int().meta({ description: 'Refs that are there as in the backup.' }),
    missing: z.int(),
    left_out: z.int().meta({ description: 'Refs that are not branches, tags or notes.' }),
    has_default_branch: z.boolean().meta({
      description: 'Whether the default branch there is that of the backup.',
    }),
  })
  .nullable();

const restore = z
  .object({
    id: z.int(),
    repository: z.string(),
    version: z.int().nullable().meta({ description: 'Null for the newest at that time.' }),
    ref: z.string().nullable().meta({ description: 'Null for all branches and tags.' }),
    kind: z.enum(['folder', 'push']),
    target: z.string().meta({
      description: 'The folder on the machine of the server, or the address of the repository.',
    }),
    is_bare: z.boolean(),
    status: z.enum(restoreStatuses).meta({
      description: 'interrupted: the server was stopped.',
    }),
    step: z.enum(restoreSteps).nullable(),
    files_done: z.int().nullable().meta({ description: 'Files of the archive unpacked so far.' }),
    files: z.int().nullable(),
    error: z.string().nullable().meta({ description: 'Why it failed or was interrupted.' }),
    restored: restored.meta({ description: 'What was restored and proved.' }),
    pushed: pushed.meta({ description: 'What has arrived at the address.' }),
    requested_by: z.string(),
    created_at: timestamp,
    started_at: timestamp.nullable(),
    ended_at: timestamp.nullable(),
  })
  .meta({ id: 'Restore' });

const address = z
  .string()
  .max(2_000)
  .transform((text, context) => {
    try {
      const { location, isLocal } = parseSourceAddress(text.trim(), tmpdir());
      if (!isLocal) return location;
      context.addIssue('must be the address of a repository on a git host');
    } catch (error) {
      if (!(error instanceof AddressError)) throw error;
      context.addIssue(error.message);
    }
    return z.NEVER;
  });

const folder = z
  .string()
  .trim()
  .superRefine((name, context) => {
    const fault = folderNameFault(name);
    if (fault !== null) context.addIssue(fault);
  });

const newRestore = z
  .object({
    repository: z
      .string()
      .min(1)
      .max(1_001)
      .regex(/^[^\p{Cc}]+$/u, 'must be owner/name')
      .meta({ description: 'As owner/name.' }),
    version: z
      .int()
      .min(1)
      .max(999_999_999)
      .nullish()
      .meta({ description: 'Default: the newest.' }),
    ref: z
      .string()
      .min(1)
      .max(1_000)
      .regex(/^[^\p{Cc}]+$/u, 'must be the name of a branch or tag')
      .nullish()
      .meta({ description: 'Only this branch or tag. Not with `push`.' }),
    folder: folder.nullish().meta({
      description:
        'The name of a new folder below RESTORE_DIR. Default: made of the name and the version.',
    }),
    bare: z.boolean().default(false).meta({ description: 'Without a work tree. Not with `push`.' }),
    push: address.nullish().meta({
      description:
        'Instead of a folder: the https or ssh address of an empty repository, without credentials.',
    }),
  })
  .superRefine(({ push, folder, ref, bare }, context) => {
    const isBoth = push != null && (folder != null || ref != null || bare);
    if (!isBoth) return;
    const message = 'cannot be given with a folder, a ref or bare';
    context.addIssue({ code: 'custom', path: ['push'], message });
  })
  .meta({ id: 'NewRestore' });

const idInput = z.object({ id: runIdInput.shape.id.meta({ description: 'Id of a restore.' }) });
const elsewhere = {
  description: 'It cannot be done here; the message says why, and what to do.',
  schema: plainError,
};
const missing = { description: 'No such restore.', schema: plainError };
const common = { tag: 'Restores' } as const;

/** GET and POST /api/restores, GET /api/restores/:id, POST /api/restores/:id/cancel. */
export const restoresEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/api/restores',
      access: 'identified',
      summary: 'List the restores, newest first',
      query: pageInput.extend({
        repository: z
          .string('must be given once')
          .max(1_001)
          .refine((text) => !text.includes('\0'), 'must not contain NUL')
          .optional()
          .meta({ description: 'Only those of this repository, in any letter case.' }),
      }),
      responses: { 200: { description: 'A page of restores.', schema: listOf(restore) } },
    },
    async ({ query }, { db }: BackupsDeps, c) =>
      sendPage(c, await listRestores(db, query, query.repository), query),
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/api/restores',
      access: 'administrator',
      summary: 'Restore a version to a folder of the server’s machine, or to a git host',
      description:
        'Starts the worker’s command, with the same checks: every file, every object, the whole history and all refs are proved, and the folder appears complete or not at all. Never writes over anything. Restores of one caller run one after the other. Recorded with the name of the caller.',
      body: { encoding: 'json', schema: newRestore },
      responses: {
        201: { description: 'The restore, which waits for its turn or runs.', schema: restore },
        404: { description: 'There is no archive of this repository.', schema: plainError },
        409: elsewhere,
        429: { description: 'Too many restores wait for their turn.' },
      },
    },
    async ({ body }, deps: BackupsDeps, c) => {
      const jobs = requireJobs(deps);
      const { repository, version = null, ref = null, folder = null, push = null, bare } = body;
      // A wrong name is noticed at once.
      await deps.archives?.describe(repository, { signal: c.req.raw.signal });
      const request = { repository, version, ref, folder, push, isBare: bare };
      const id = await jobs.start(request, callerName(c));
      const made = await readRestore(deps.db, id);
      return c.body(made ?? '', 201, { 'Content-Type': 'application/json' });
    },
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      path: '/api/restores/:id',
      access: 'identified',
      summary: 'Read one restore, to follow it',
      params: idInput,
      responses: { 200: { description: 'The restore.', schema: restore }, 404: missing },
    },
    async ({ params }, { db }: BackupsDeps, c) => sendJson(c, await read(db, params.id)),
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      path: '/api/restores/:id/cancel',
      access: 'administrator',
      summary: 'Stop a restore',
      description: 'What it has written so far is removed. What was pushed stays.',
      params: idInput,
      responses: {
        200: { description: 'The restore, which has ended.', schema: restore },
        404: missing,
        409: elsewhere,
      },
    },
    async ({ params }, deps: BackupsDeps, c) => {
      const isCanceled = await deps.restores?.cancel(params.id, callerName(c));
      const found = await read(deps.db, params.id);
      if (isCanceled) return sendJson(c, found);
      throw new AppError(
        'CONFLICT',
        JSON.parse(found).ended_at === null
          ? 'the restore runs on another server: cancel it there'
          : 'the restore has already ended',
      );
    },
  ),
];

function requireJobs({ restores }: BackupsDeps): RestoreJobs {
  if (restores !== null) return restores;
  throw new AppError(
    'CONFLICT',
    'this server has no machine to restore on: ask the one that runs with `npm start` on the machine of the worker, or use `npm run worker -- restore` there',
  );
}

async function read(db: BackupsDeps['db'], id: number): Promise<string> {
  const found = await readRestore(db, id);
  if (found === null) throw new AppError('NOT_FOUND', 'restore not found');
  return found;
}
