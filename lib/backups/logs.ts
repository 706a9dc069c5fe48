import * as z from 'zod';
import { AppError } from '../errors.ts';
import { plainError } from '../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { readLogsAround } from '../records/logs/around.ts';
import { listFilteredLogs, MAX_LOGS_COUNTED } from '../records/logs/filtered.ts';
import { listLogs } from '../records/logs/list.ts';
import { MAX_LOGS_FOUND } from '../records/logs/words.ts';
import { parseQuery } from '../search/parse-query.ts';
import type { BackupsDeps } from './base/backups-deps.ts';
import { logIdInput, logsInput } from './base/input.ts';
import { sendJson, sendPage } from './base/json.ts';
import { listOf, log } from './base/shapes.ts';

/** How many logs before a log, and how many after it, are sent with it. */
const LOGS_AROUND = 50;

/** GET /api/logs and /api/logs/:id. */
export const logsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      method: 'get',
      path: '/api/logs',
      tag: 'Logs',
      access: 'reader',
      summary: 'List execution logs, newest first',
      description: `Without filters total_items is exact below 10,000, otherwise an estimate by the database. With only level and run_id it is exact. With any other filter the list has at most the newest ${MAX_LOGS_COUNTED} matching logs, with text ${MAX_LOGS_FOUND}; use before_id to read further back. A text search is limited in time. truncated means that it was cut short and missed some older logs: add filters.`,
      query: logsInput,
      responses: {
        200: {
          description: 'A page of logs.',
          schema: listOf(log).extend({
            truncated: z
              .literal(true)
              .optional()
              .meta({ description: 'More logs may match the text.' }),
          }),
        },
        404: { description: 'No log has the id before_id.', schema: plainError },
      },
    },
    async ({ query }, { db }: BackupsDeps, c) => {
      const { level, run_id: runId, repository, from, to, before_id: beforeId } = query;
      const text = query.text?.trim() || undefined;
      if ([repository, from, to, text, beforeId].every((filter) => filter === undefined)) {
        return sendPage(c, await listLogs(db, query, { level, runId }), query);
      }
      const words = text === undefined ? null : parseQuery(text).alternatives;
      const selection = { level, runId, repository, since: from, until: to, beforeId };
      const page = await listFilteredLogs(db, query, selection, words);
      return sendPage(c, page, query, page.isCut);
    },
  ),
  endpoint(
    {
      method: 'get',
      path: '/api/logs/:id',
      tag: 'Logs',
      access: 'reader',
      summary: 'Read one log line among those around it',
      params: logIdInput,
      responses: {
        200: {
          description: `The line, up to ${LOGS_AROUND} before it and up to ${LOGS_AROUND} after it, newest first; those of its run, if it is of one.`,
          schema: z.object({ data: z.array(log) }),
        },
        404: { description: 'No such log line.', schema: plainError },
      },
    },
    async ({ params: { id } }, { db }: BackupsDeps, c) => {
      const logs = await readLogsAround(db, id, LOGS_AROUND);
      if (logs === null) throw new AppError('NOT_FOUND', 'log line not found');
      return sendJson(c, `{"data":${logs}}`);
    },
  ),
];
