import { systemClock } from '../../lib/clock.ts';
import { migrate } from '../../lib/database/migrate.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { createLog } from '../../lib/log/log.ts';
import { embedJobs, prepareJob } from '../../lib/search/embed-batch.ts';
import { hashingEmbedder } from '../../lib/search/embedders/embedder.ts';
import { hashingModel } from '../../lib/search/embedders/hashing.ts';
import { type ClaimedJob, claimJobs } from '../../lib/search/embedding-jobs.ts';
import { startGeneration } from '../../lib/search/generations.ts';
import { processBatches } from '../../lib/search/process-batch.ts';
import { createRedactor } from '../../lib/security/redaction/redactor.ts';
import { startPostgres } from '../../tests/support/postgres-server.ts';
import { printTable } from '../report.ts';
import { times } from '../share.ts';

/** The goal: chunks per second that one process embeds, not counting the database. */
const GOAL = 2_000;
const BATCH_SIZE = 500;
const CALLERS = 4;

/** Typical texts: short lines, git errors, and now and then a long answer. */
const messages = [
  (n: number) => `owner-${n % 20}/repository-${n}: new or changed, cloning`,
  (n: number) => `archived ${n} commits, 363.5 KiB in owner-${n % 20}__repository-${n}.bundle`,
  (n: number) =>
    `git fetch failed: exit status 128: fatal: unable to access 'https://git.example.com/o/r-${n}.git/': ECONNRESET`,
  (n: number) => `The disk of host-${n} was full when the archive was written. `.repeat(40),
];

/** Measures process-batch in both ways, on a new Postgres. */
export async function measureProcessBatch(jobs: number): Promise<void> {
  await measureEmbedding();
  const postgres = await startPostgres({ autovacuum: 'on', fsync: 'on', synchronous_commit: 'on' });
  try {
    await measureClaims(postgres.url, jobs);
  } finally {
    await postgres.stop();
  }
}

/** Measures how many chunks per second process-batch redacts, cuts and embeds with the built-in model. */
async function measureEmbedding(): Promise<void> {
  const redactor = createRedactor(['a-configured-secret-of-the-service']);
  const rows: string[][] = [];
  for (const [what, kinds] of [
    ['log lines', messages.slice(0, 3)],
    ['log lines and every fourth a long answer', messages],
  ] as const) {
    const jobs = Array.from({ length: times(20_000) }, (_, n) =>
      jobOf(n, kinds[n % kinds.length]?.(n)),
    );
    let chunks = 0;
    const start = performance.now();
    for (let from = 0; from < jobs.length; from += BATCH_SIZE) {
      const prepared = jobs.slice(from, from + BATCH_SIZE).map((job) => prepareJob(job, redactor));
      for (const outcome of await embedJobs(hashingEmbedder, prepared)) {
        if ('error' in outcome) throw new Error(outcome.error);
        chunks += outcome.chunks.length;
      }
    }
    const rate = Math.round((chunks / (performance.now() - start)) * 1_000);
    rows.push([what, String(chunks), String(rate), rate >= GOAL ? 'reached' : `MISSED (${GOAL})`]);
  }
  printTable(
    'process-batch with the built-in model in one process, the database not counted',
    ['records', 'chunks', 'chunks a second', 'goal'],
    rows,
  );
}

function jobOf(n: number, content = ''): ClaimedJob {
  return {
    id: String(n),
    source_type: 'execution_log',
    source_id: String(n),
    heading: `owner-${n % 20}/repository-${n} info`,
    content,
    metadata: '{"repository":"owner/name","level":"info","run_id":1}',
    created_at: '2026-01-01T00:00:00Z',
  };
}

/**
 * Runs four concurrent callers of process-batch, each with its own connection, in a new database on the real Postgres
 * at `serverUrl`, and checks that every job is done exactly once, even if a caller died half-way. Postgres's packages
 * lack pgvector, so vectors are stored as text here.
 */
async function measureClaims(serverUrl: string, jobs: number): Promise<void> {
  const log = createLog('error', systemClock, () => undefined);
  const openAt = (url: string) => openDatabase({ url, fetch, log, maxConnections: 1 });
  const server = await openAt(serverUrl);
  await server.query({ text: 'CREATE DATABASE claims' });
  await server.close();
  const url = new URL(serverUrl);
  url.pathname = '/claims';
  const open = () => openAt(url.href);
  const db = await open();
  await migrate(db, 'drizzle');
  await db.query({ text: 'CREATE DOMAIN vector AS text' });
  await db.query({ text: 'ALTER TABLE embedding_chunks ADD COLUMN embedding vector' });
  await db.query(
    {
      text: `INSERT INTO execution_logs (message)
        SELECT 'step ' || n || ' of the backup' FROM generate_series(1, $1::int) AS n`,
    },
    [jobs],
    { timeoutMs: 600_000 },
  );
  const { id, jobs: enqueued } = await startGeneration(db, hashingModel);
  // This caller claimed jobs and died long ago: the others take them over.
  await claimJobs(db, { generationId: id, limit: 100, lease: { holder: 'dead', now: 0 } });
  const start = performance.now();
  const reports = await Promise.all(
    Array.from({ length: CALLERS }, async () => {
      const own = await open();
      const report = await processBatches(
        {
          db: own,
          clock: systemClock,
          log,
          redactor: createRedactor([]),
          openEmbedder: async () => hashingEmbedder,
        },
        { generationId: id, batchSize: 50, maxBatches: 1_000_000, budgetMs: 3_600_000 },
      );
      await own.close();
      return report;
    }),
  );
  const seconds = (performance.now() - start) / 1_000;
  const succeeded = reports.reduce((sum, report) => sum + report.succeeded, 0);
  const [left] = await db.query<{ lost: number; doubled: number }>(
    {
      text: `SELECT
        (SELECT count(*) FROM execution_logs AS log WHERE NOT EXISTS (
           SELECT FROM embedding_chunks AS chunk WHERE chunk.generation_id = $1::int
             AND chunk.source_type = 'execution_log' AND chunk.source_id = log.id::text))::int AS lost,
        (SELECT count(*) - count(DISTINCT source_id) FROM embedding_chunks
           WHERE generation_id = $1::int)::int AS doubled`,
    },
    [id],
    { timeoutMs: 600_000 },
  );
  await db.close();
  const { lost = Number.NaN, doubled = Number.NaN } = left ?? {};
  const isReached = lost === 0 && doubled === 0 && succeeded === enqueued;
  printTable(
    `${CALLERS} callers of process-batch at once on the real Postgres, one more having died half-way`,
    ['jobs', 'done', 'lost', 'doubled', 'done by each', 'jobs a second', 'goal'],
    [
      [
        String(enqueued),
        String(succeeded),
        String(lost),
        String(doubled + (succeeded - enqueued)),
        reports.map((report) => report.succeeded).join(', '),
        String(Math.round(succeeded / seconds)),
        isReached ? 'reached' : 'MISSED (none lost, none doubled)',
      ],
    ],
  );
}
