import * as z from 'zod';
import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { listRuns, readLatestRun, readRun } from '../../records/runs/runs.ts';
import { requestStop } from '../../records/runs/stop-requests.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { callerName } from '../base/caller-name.ts';
import { runIdInput, runsInput } from '../base/input.ts';
import { sendJson, sendPage } from '../base/json.ts';
import { latestRun, listOf, result, run } from '../base/shapes.ts';

const common = { method: 'get', tag: 'Backups', access: 'reader' } as const;

/** GET /api/backups, /api/backups/latest and /api/backups/:id. */
export const runsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      path: '/api/backups',
      summary: 'List backup runs',
      query: runsInput,
      responses: { 200: { description: 'A page of runs.', schema: listOf(run) } },
    },
    async ({ query }, { db }: BackupsDeps, c) => {
      const { has_failures: hasFailures, reverse: isReverse, ...filter } = query;
      const selection = { ...filter, hasFailures, isReverse };
      return sendPage(c, await listRuns(db, query, selection), query);
    },
  ),
  endpoint(
    {
      ...common,
      path: '/api/backups/latest',
      summary: 'Read the latest run, with its fixes',
      responses: {
        200: {
          description: 'The run; null if there is none yet.',
          schema: z.object({ run: latestRun.nullable() }),
        },
      },
    },
    async (_input, { db }: BackupsDeps, c) => sendJson(c, `{"run":${await readLatestRun(db)}}`),
  ),
  endpoint(
    {
      ...common,
      path: '/api/backups/:id',
      summary: 'Read one run with the result of each repository',
      params: runIdInput,
      responses: {
        200: {
          description: 'The run and its results, by id.',
          schema: z.object({ run: run, results: z.array(result) }),
        },
        404: { description: 'No such run.', schema: plainError },
      },
    },
    async ({ params }, { db }: BackupsDeps, c) => {
      const found = await readRun(db, params.id);
      if (!found) throw new AppError('NOT_FOUND', 'backup run not found');
      return sendJson(c, `{"run":${found.run},"results":${found.results}}`);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      access: 'administrator',
      path: '/api/backups/:id/stop',
      summary: 'Stop a run that is under way',
      description:
        'Its workers end it in order, on whatever machine they are: within a second or two while something moves, and within half a minute otherwise. Repositories that are done stay backed up.',
      params: runIdInput,
      responses: {
        202: {
          description: 'The workers were asked to stop.',
          schema: z.object({ id: z.int(), stop_requested: z.literal(true) }),
        },
        404: { description: 'No such run.', schema: plainError },
        409: { description: 'It has ended, or no worker of ours does it.', schema: plainError },
      },
    },
    async ({ params: { id } }, { db, log }: BackupsDeps, c) => {
      const by = callerName(c);
      const { isAsked, isKnown } = await requestStop(db, id, by);
      if (!isKnown) throw new AppError('NOT_FOUND', 'backup run not found');
      if (!isAsked)
        throw new AppError('CONFLICT', 'the run is not under way: it cannot be stopped');
      log.info('a run was asked to stop', { run_id: id, by });
      return c.json({ id, stop_requested: true }, 202);
    },
  ),
];
