import * as z from 'zod';
import { MAX_REPOSITORY_LENGTH } from '../../archives/base/archive-name.ts';
import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import {
  listRunRequests,
  requestRun,
  runRequestStatuses,
  withdrawRunRequest,
} from '../../records/runs/run-requests.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { callerName } from '../base/caller-name.ts';
import { pageInput, runIdInput } from '../base/input.ts';
import { sendJson, sendPage } from '../base/json.ts';
import { listOf, log } from '../base/shapes.ts';

const timestamp = log.shape.created_at;

const runRequest = z
  .object({
    id: z.int(),
    status: z.string().meta({
      description: `${runRequestStatuses.join(', ')}; other programs may have stored other values.`,
    }),
    target_repo: z.string().nullable().meta({ description: 'Null for all repositories.' }),
    requested_by: z.string(),
    reason: z.string(),
    created_at: timestamp,
    claimed_at: timestamp.nullable(),
    run_id: z.int().nullable().meta({ description: 'The run that claimed it.' }),
    withdrawn: z.boolean().meta({
      description:
        'Whether it was withdrawn before a worker claimed it. Its status is then failed.',
    }),
  })
  .meta({ id: 'RunRequest' });

const queuedRequest = z
  .object({ ...runRequest.shape, already_queued: z.boolean() })
  .meta({ id: 'QueuedRunRequest' });

const newRequest = z
  .object({
    target_repo: z.string().trim().min(1).max(MAX_REPOSITORY_LENGTH).nullish().meta({
      description: 'A tracked repository, in any letter case. Default: all repositories.',
    }),
    reason: z.string().trim().max(500).default('').meta({
      description: 'The reason, shown in the log of the run.',
    }),
  })
  .meta({ id: 'NewRunRequest' });

const common = { path: '/api/run-requests', tag: 'Run requests' } as const;

/** GET and POST /api/run-requests, DELETE /api/run-requests/:id. */
export const runRequestsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      access: 'reader',
      summary: 'List the requests for a backup run, newest first',
      query: pageInput.extend({
        status: z
          .enum(runRequestStatuses, `must be one of ${runRequestStatuses.join(', ')}`)
          .optional()
          .meta({ description: 'Only requests of this status.' }),
      }),
      responses: { 200: { description: 'A page of requests.', schema: listOf(runRequest) } },
    },
    async ({ query }, { db }: BackupsDeps, c) =>
      sendPage(c, await listRunRequests(db, query, query.status), query),
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      access: 'identified',
      summary: 'Request a backup run of one repository, or of all',
      description:
        'A server of `npm start` that starts runs itself starts one at once. Elsewhere, the next run that covers the target claims the request.',
      body: { encoding: 'json', schema: newRequest },
      responses: {
        200: {
          description: 'A request for this target was already pending.',
          schema: queuedRequest,
        },
        201: { description: 'The request.', schema: queuedRequest },
        404: { description: 'The repository is not tracked.', schema: plainError },
      },
    },
    async ({ body }, { db, scheduler }: BackupsDeps, c) => {
      const queued = await requestRun(db, {
        target: body.target_repo ?? null,
        requestedBy: callerName(c),
        reason: body.reason,
      });
      if (queued === null) throw new AppError('NOT_FOUND', 'no repository of that name is tracked');
      scheduler?.wake();
      const { request_id: id, already_queued, ...request } = JSON.parse(queued);
      const unclaimed = { claimed_at: null, run_id: null, withdrawn: false };
      return c.json({ id, ...request, ...unclaimed, already_queued }, already_queued ? 200 : 201);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'delete',
      path: '/api/run-requests/:id',
      access: 'identified',
      summary: 'Withdraw a pending request',
      params: z.object({ id: runIdInput.shape.id.meta({ description: 'Id of a request.' }) }),
      responses: {
        200: { description: 'The withdrawn request; no worker claims it.', schema: runRequest },
        404: { description: 'No such request.', schema: plainError },
        409: { description: 'A worker has claimed it, or it has ended.', schema: plainError },
      },
    },
    async ({ params }, { db }: BackupsDeps, c) => {
      const { item, isKnown } = await withdrawRunRequest(db, params.id);
      if (item !== null) return sendJson(c, item);
      if (!isKnown) throw new AppError('NOT_FOUND', 'run request not found');
      throw new AppError(
        'CONFLICT',
        'the request is no longer pending: it was claimed or has ended',
      );
    },
  ),
];
