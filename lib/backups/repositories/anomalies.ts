import * as z from 'zod';
import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { anomalyKinds, MAX_CHANGES } from '../../records/anomalies/kinds.ts';
import { confirmAnomalies, listAnomalies } from '../../records/anomalies/list.ts';
import type { BackupsDeps } from '../backups-deps.ts';
import { callerName } from '../caller-name.ts';
import { evaluateNow } from '../evaluate-now.ts';
import { anomaliesInput, repositoryInput } from '../input.ts';
import { sendPage } from '../json.ts';
import { listOf, timestamp } from '../shapes.ts';

const values = z.record(z.string(), z.string());

const anomaly = z
  .object({
    id: z.int(),
    repository: z.string().nullable().meta({ description: 'Null for what concerns all of them.' }),
    run_id: z.int().nullable(),
    version: z.int().nullable().meta({
      description:
        'The version that differs from the one before it; the last one of an emptied repository.',
    }),
    kind: z.enum(anomalyKinds).meta({
      description:
        'branches_rewritten, branches_deleted: the source no longer reaches what they had. tags_rewritten, tags_deleted: they point elsewhere, or are gone. refs_gone: more than half of all refs. shrunk: commits or bytes fell to half or less. default_branch: HEAD is another branch. emptied: no ref is left. noted: what the archive warns of, when no more is known. missing: more than a fifth of all repositories, in one discovery.',
    }),
    change_count: z.int().meta({ description: 'How many things changed.' }),
    before: values.meta({
      description: `What was there by its name, such as a ref's object id. At most ${MAX_CHANGES}.`,
    }),
    after: values.meta({ description: 'The same now; what is gone has no entry.' }),
    seen_at: timestamp,
    confirmed_at: timestamp.nullable().meta({
      description: 'Null as long as it holds back the pruning of older versions.',
    }),
    confirmed_by: z.string().nullable(),
  })
  .meta({ id: 'Anomaly', description: 'What a person should look at.' });

const confirmation = z
  .object({
    ids: z.array(z.int().min(1)).min(1).max(100).meta({ description: 'Ids of anomalies.' }),
  })
  .meta({ id: 'AnomalyConfirmation' });

const common = { tag: 'Repositories' } as const;

/** GET /api/anomalies, those of a repository, and POST /api/anomalies/confirm. */
export const anomaliesEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      access: 'reader',
      path: '/api/anomalies',
      summary: 'List what a person should look at, newest first',
      description: 'Of all repositories. An open anomaly holds back the pruning of older versions.',
      query: anomaliesInput,
      responses: { 200: { description: 'A page of anomalies.', schema: listOf(anomaly) } },
    },
    async ({ query }, { db }: BackupsDeps, c) =>
      sendPage(c, await listAnomalies(db, query, { open: query.open }), query),
  ),
  endpoint(
    {
      ...common,
      method: 'get',
      access: 'reader',
      path: '/api/repos/:owner/:name/anomalies',
      summary: 'List the anomalies of one repository, newest first',
      description: 'Empty for an unknown repository. The name matches in any letter case.',
      params: repositoryInput,
      query: anomaliesInput,
      responses: { 200: { description: 'A page of anomalies.', schema: listOf(anomaly) } },
    },
    async ({ params, query }, { db }: BackupsDeps, c) => {
      const repository = `${params.owner}/${params.name}`;
      return sendPage(c, await listAnomalies(db, query, { repository, open: query.open }), query);
    },
  ),
  endpoint(
    {
      ...common,
      method: 'post',
      access: 'identified',
      path: '/api/anomalies/confirm',
      summary: 'Confirm anomalies',
      description:
        'From the next run of the worker on, they no longer hold back pruning, and their incident ends. Recorded with the name of the caller.',
      body: { encoding: 'json', schema: confirmation },
      responses: {
        200: {
          description: 'How many were open until now.',
          schema: z.object({ confirmed: z.int() }).meta({ id: 'AnomaliesConfirmed' }),
        },
        404: { description: 'One of them does not exist: none is confirmed.', schema: plainError },
      },
    },
    async ({ body }, deps: BackupsDeps, c) => {
      const ids = [...new Set(body.ids)];
      const { known, confirmed } = await confirmAnomalies(deps.db, ids, callerName(c));
      if (known < ids.length) throw new AppError('NOT_FOUND', 'anomaly not found');
      if (confirmed > 0) await evaluateNow(deps, ['anomaly']);
      return c.json({ confirmed });
    },
  ),
];
