import { AppError } from '../errors.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { listDrills } from '../records/drills/list.ts';
import type { BackupsDeps } from './base/backups-deps.ts';
import { evidenceInput, pageInput, repositoryInput } from './base/input.ts';
import { sendPage } from './base/json.ts';
import { listOf, restoreDrill } from './base/shapes.ts';

const common = { method: 'get', tag: 'Restore drills', access: 'reader' } as const;

/** GET /api/repos/:owner/:name/drills and /api/evidence. */
export const drillsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      path: '/api/repos/:owner/:name/drills',
      summary: 'List the restore drills of one repository, newest first',
      description:
        'Rows of the ledger. Empty if there were no drills, or if the repository is unknown. The name matches in any letter case.',
      params: repositoryInput,
      query: pageInput,
      responses: { 200: { description: 'A page of drills.', schema: listOf(restoreDrill) } },
    },
    async ({ params, query }, { db }: BackupsDeps, c) =>
      sendPage(c, await listDrills(db, `${params.owner}/${params.name}`, query), query),
  ),
  endpoint(
    {
      ...common,
      path: '/api/evidence',
      summary: 'Download the evidence of a period for an auditor',
      description:
        'Lists every drill and what it proves, each repository with its last proof, and the state of the ledger with its last hash.',
      query: evidenceInput,
      responses: {
        200: {
          description: 'The document in the requested format.',
          contentType: ['text/html', 'text/markdown'],
        },
      },
    },
    async ({ query: { from, to, format: name } }, { db, clock }: BackupsDeps, c) => {
      if (from >= to) {
        const message = 'must be after from';
        throw new AppError('VALIDATION_ERROR', `to ${message}`, {
          details: [{ path: 'to', message }],
        });
      }
      // Rarely requested, so it is loaded lazily to keep the start of the server fast.
      const { evidenceFormats } = await import('../drills/evidence-format.ts');
      const { writeEvidence } = await import('../drills/evidence-report.ts');
      const format = evidenceFormats[name];
      const now = new Date(clock.now()).toISOString();
      const file = `restore-evidence-${from.slice(0, 10)}-${to.slice(0, 10)}.${format.extension}`;
      const headers = {
        'Content-Type': format.contentType,
        'Content-Disposition': `attachment; filename="${file}"`,
        'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        'X-Content-Type-Options': 'nosniff',
      };
      const pieces = writeEvidence(db, { from, to }, { format, now });
      // Read before the response begins, so that an unreachable database is answered with an error.
      const first = await pieces.next();
      if (c.req.method === 'HEAD') {
        await pieces.return(undefined);
        return c.body(null, 200, headers);
      }
      return c.body(streamOf(first.value ?? '', pieces), 200, headers);
    },
  ),
];

/** Streams text pieces, each produced when it is read. */
function streamOf(first: string, rest: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start: (controller) => controller.enqueue(encoder.encode(first)),
    async pull(controller) {
      const { value, done } = await rest.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    async cancel() {
      await rest.return(undefined);
    },
  });
}
