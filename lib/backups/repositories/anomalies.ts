import * as z from 'zod';
import { AppError } from '../../errors.ts';
import { plainError } from '../../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../../http/route.ts';
import { anomalyKinds, MAX_CHANGES } from '../../records/anomalies/kinds.ts';
import { confirmAnomalies, listAnomalies } from '../../records/anomalies/list.ts';
import type { BackupsDeps } from '../base/backups-deps.ts';
import { callerName } from '../base/caller-name.ts';
import { evaluateNow } from '../base/evaluate-now.ts';
import { anomaliesInput, repositoryInput } from '../base/input.ts';
import { sendPage } from '../base/json.ts';
import { listOf, timestamp } from '../base/shapes.ts';

const values = z.record(z.string(), z.string());

const anomaly = z
  .object({
    id: z.int(),
    repository: z
      .string()
      .nullable()
      .meta({ description: 'Null if it concerns all repositories.' }),
    run_id: z.int().nullable(),
    version: z.int().nullable().meta({
      description:
        'The version that differs from the previous one; for an emptied repository, its last version.',
    }),
    kind: z.enum(anomalyKinds).meta({
      description:
        'branches_rewritten, branches_deleted: their old commits can no longer be reached at the source. tags_rewritten, tags_deleted: they point elsewhere, or were deleted. refs_gone: more than half of all refs are gone. shrunk: commits or bytes fell to half or less. default_branch: HEAD is another branch. emptied: no ref is left. noted: a warning in the archive, without details. missing: more than a fifth of all repositories are missing from one discovery.',
    }),
    change_count: z.int().meta({ description: 'The number of changes.' }),
    before: values.meta({
      description: `The old values by name, such as a ref's object id. At most ${MAX_CHANGES}.`,
    }),
    after: values.meta({
      description: 'The new values by name; without entries for what no longer exists.',
    }),
    seen_at: timestamp,
    confirmed_at: timestamp.nullable().meta({
      description: 'Null while it prevents the pruning of older versions.',
    }),
    confirmed_by: z.string().nullable(),
  })
  .meta({ id: 'Anomaly', description: 'A change that a person should look at.' });

const confirmation = z
  .object({
    ids: z.array(z.int().min(1)).min(1).max(100).meta({ description: 'Ids of anomalies.' }),
  })
  .meta({ id: 'AnomalyConfirmation' });

const common = { tag: 'Repositories' } as const;

/** GET /api/anomalies and /api/repos/:owner/:name/anomalies, and POST /api/anomalies/confirm. */
export const anomaliesEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      method: 'get',
      access: 'reader',
      path: '/api/anomalies',
      summary: 'List the anomalies of all repositories, newest first',
      description:
        'An anomaly is a change that a person should look at. While it is open, older versions are not pruned.',
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
        'From the next run of the worker, they no longer prevent pruning, and their incident ends. Recorded with the name of the caller.',
      body: { encoding: 'json', schema: confirmation },
      responses: {
        200: {
          description: 'How many of them were open.',
          schema: z.object({ confirmed: z.int() }).meta({ id: 'AnomaliesConfirmed' }),
        },
        404: { description: 'One of them does not exist; none is confirmed.', schema: plainError },
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
