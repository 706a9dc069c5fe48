import * as z from 'zod';
import { AppError } from '../errors.ts';
import { plainError } from '../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { recordFix } from '../records/base/fixes.ts';
import { listedFixLimits, listFixes } from '../records/fix-list.ts';
import type { BackupsDeps } from './base/backups-deps.ts';
import { callerName } from './base/caller-name.ts';
import { logsInput, pageInput } from './base/input.ts';
import { sendPage } from './base/json.ts';
import { listOf, log } from './base/shapes.ts';

const recordedFix = z
  .object({
    id: z.int(),
    title: z.string(),
    description: z.string(),
    commit_hash: z.string().meta({ description: 'Empty when there is none.' }),
    author: z.string(),
    created_at: log.shape.created_at,
    affected_runs: z
      .array(z.int())
      .max(listedFixLimits.runs)
      .meta({
        description: `The newest ${listedFixLimits.runs} runs that the fix is linked to, newest first.`,
      }),
  })
  .meta({ id: 'RecordedFix' });

const newFix = z
  .object({
    title: z.string().trim().min(1).max(200).meta({ description: 'What was fixed, in one line.' }),
    description: z
      .string()
      .trim()
      .min(1)
      .max(10_000)
      .meta({ description: 'The cause, and how it was fixed.' }),
    commit_hash: z.string().trim().max(100).nullish().meta({
      description: 'The commit that contains the change.',
    }),
    author: z.string().trim().min(1).max(100).nullish().meta({
      description:
        'Who fixed it. Only used with the internal secret, default api; a fix by a user always has their name.',
    }),
    affected_run_id: z.int().min(1).nullish().meta({ description: 'The run that failed.' }),
  })
  .meta({ id: 'NewFix' });

const common = { path: '/api/fixes', tag: 'Fixes' } as const;

/** GET and POST /api/fixes. */
export const fixesEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      access: 'reader',
      summary: 'List the recorded fixes, newest first',
      query: pageInput.extend({ run_id: logsInput.shape.run_id }),
      responses: { 200: { description: 'A page of fixes.', schema: listOf(recordedFix) } },
    },
    async ({ query }, { db }: BackupsDeps, c) =>
      sendPage(c, await listFixes(db, query, query.run_id), query),
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      access: 'identified',
      summary: 'Record how a failure was fixed',
      description: 'Failure diagnosis and search will find it.',
      body: { encoding: 'json', schema: newFix },
      responses: {
        201: { description: 'The recorded fix.', schema: recordedFix },
        404: { description: 'There is no such run; nothing is recorded.', schema: plainError },
      },
    },
    async ({ body }, { db }: BackupsDeps, c) => {
      const recorded = await recordFix(db, {
        title: body.title,
        description: body.description,
        // Only a program, which has the internal secret, may name another author.
        author: c.get('user') ?? body.author ?? callerName(c),
        commitHash: body.commit_hash ?? '',
        affectedRunId: body.affected_run_id ?? null,
      });
      if (recorded === null) throw new AppError('NOT_FOUND', 'backup run not found');
      const { id, title, description, commit_hash, author, created_at, affected_run_id } =
        JSON.parse(recorded);
      const affected_runs = affected_run_id === null ? [] : [affected_run_id];
      const fix = { id, title, description, commit_hash, author, created_at, affected_runs };
      return c.json(fix, 201);
    },
  ),
];
