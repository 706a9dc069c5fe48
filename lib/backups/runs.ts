import { z } from 'zod';
import { AppError } from '../platform/errors.ts';
import { plainError } from '../platform/http/error-shapes.ts';
import { type Endpoint, endpoint } from '../platform/http/route.ts';
import { listRuns, readLatestRun, readRun } from '../records/runs.ts';
import type { BackupsHandles } from './handles.ts';
import { pageInput, runIdInput } from './input.ts';
import { sendJson, sendPage } from './json.ts';
import { latestRun, listOf, result, run } from './shapes.ts';

const common = { method: 'get', tag: 'Backups', access: 'internal' } as const;

/** GET /api/backups, /api/backups/latest and /api/backups/:id. */
export const runsEndpoints: readonly Endpoint<BackupsHandles>[] = [
  endpoint(
    {
      ...common,
      path: '/api/backups',
      summary: 'List backup runs, newest first',
      query: pageInput,
      responses: () => ({ 200: { description: 'A page of runs.', schema: listOf(run()) } }),
    },
    async ({ query }, { db }: BackupsHandles, c) => sendPage(c, await listRuns(db, query), query),
  ),
  endpoint(
    {
      ...common,
      path: '/api/backups/latest',
      summary: 'Read the run that started last, with its fixes',
      responses: () => ({
        200: {
          description: 'The run; null when no run exists.',
          schema: z.object({ run: latestRun().nullable() }),
        },
      }),
    },
    async (_input, { db }: BackupsHandles, c) => sendJson(c, `{"run":${await readLatestRun(db)}}`),
  ),
  endpoint(
    {
      ...common,
      path: '/api/backups/:id',
      summary: 'Read one run with the result of each repository',
      params: runIdInput,
      responses: () => ({
        200: {
          description: 'The run and its results, by id.',
          schema: z.object({ run: run(), results: z.array(result()) }),
        },
        404: { description: 'No such run.', schema: plainError() },
      }),
    },
    async ({ params }, { db }: BackupsHandles, c) => {
      const found = await readRun(db, params.id);
      if (!found) throw new AppError('NOT_FOUND', 'backup run not found');
      return sendJson(c, `{"run":${found.run},"results":${found.results}}`);
    },
  ),
];
