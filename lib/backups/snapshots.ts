import { AppError } from '../errors.ts';
import { plainError } from '../http/error-shapes.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { listSnapshots, readLatestSnapshot, readSnapshotOfRun } from '../records/base/snapshots.ts';
import type { BackupsDeps } from './base/backups-deps.ts';
import { pageInput, runIdInput } from './base/input.ts';
import { sendJson, sendPage } from './base/json.ts';
import { listOf, snapshot } from './base/shapes.ts';

const common = { method: 'get', tag: 'Analytics', access: 'reader' } as const;
const oneSnapshot = () => ({ description: 'The snapshot.', schema: snapshot });
const notFound = (description: string) => ({ description, schema: plainError });

/** GET /api/analytics/history, /api/analytics/latest and /api/analytics/:id. */
export const snapshotsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      path: '/api/analytics/history',
      summary: 'List analytics snapshots, newest first',
      query: pageInput,
      responses: {
        200: { description: 'A page of snapshots.', schema: listOf(snapshot) },
      },
    },
    async ({ query }, { db }: BackupsDeps, c) => sendPage(c, await listSnapshots(db, query), query),
  ),
  endpoint(
    {
      ...common,
      path: '/api/analytics/latest',
      summary: 'Read the newest analytics snapshot',
      responses: { 200: oneSnapshot(), 404: notFound('There is no snapshot yet.') },
    },
    async (_input, { db }: BackupsDeps, c) =>
      sendJson(c, found(await readLatestSnapshot(db), 'there is no analytics snapshot yet')),
  ),
  endpoint(
    {
      ...common,
      path: '/api/analytics/:id',
      summary: 'Read the newest analytics snapshot of a run',
      params: runIdInput,
      responses: { 200: oneSnapshot(), 404: notFound('The run has no snapshot.') },
    },
    async ({ params }, { db }: BackupsDeps, c) =>
      sendJson(c, found(await readSnapshotOfRun(db, params.id), 'this run has no snapshot')),
  ),
];

function found(text: string | null, otherwise: string): string {
  if (text === null) throw new AppError('NOT_FOUND', otherwise);
  return text;
}
