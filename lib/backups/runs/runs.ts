import * as z from 'zod';
import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { listRuns, readLatestRun, readRun } from '../../records/runs/runs.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
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
];
