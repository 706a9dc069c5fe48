import { AppError } from '../errors.ts';
import { type Endpoint, endpoint } from '../http/route.ts';
import { listDrills } from '../records/drills/list.ts';
import type { BackupsDeps } from './backups-deps.ts';
import { evidenceInput, pageInput, repositoryInput } from './input.ts';
import { sendPage } from './json.ts';
import { listOf, restoreDrill } from './shapes.ts';

const common = { method: 'get', tag: 'Restore drills', access: 'reader' } as const;

/** GET /api/repos/:owner/:name/drills and /api/evidence. */
export const drillsEndpoints: readonly Endpoint<BackupsDeps>[] = [
  endpoint(
    {
      ...common,
      path: '/api/repos/:owner/:name/drills',
      summary: 'List the restore drills of one repository, newest first',
      description:
        'Rows of the ledger. Empty if there was none, also for an unknown repository. The name matches in any letter case.',
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
        'Every drill and what it proves, each repository with its last proof, and the state of the ledger with its last hash.',
      query: evidenceInput,
      responses: {
        200: {
          description: 'A document in the format.',
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
      // Few ask for it, so it does not weigh on the start of the others.
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
      // The first piece is made before the answer begins, so that a database that is away is an error.
      const first = await pieces.next();
      if (c.req.method === 'HEAD') {
        await pieces.return(undefined);
        return c.body(null, 200, headers);
      }
      return c.body(streamOf(first.value ?? '', pieces), 200, headers);
    },
  ),
];

/** A stream of texts, which are made when they are read. */
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
