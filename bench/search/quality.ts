import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../lib/clock.ts';
import { openEmbeddedDatabase } from '../../lib/database/embedded/open.ts';
import { migrate } from '../../lib/database/migrate.ts';
import { createLog } from '../../lib/log/log.ts';
import { activateBuiltIn, ask } from '../../tests/support/search.ts';
import { printTable } from '../report.ts';
import { times } from '../share.ts';
import { buildCorpus, type CorpusLog } from './corpus.ts';
import { type LabelledQuery, labelledQueries } from './queries.ts';

const DEPTH = 10;

/** The same pipeline with both weights, and with one of them set to 0. */
const pipelines = {
  'full text alone': { ftsWeight: 1, semanticWeight: 0 },
  'vectors alone': { ftsWeight: 0, semanticWeight: 1 },
  hybrid: { ftsWeight: 1, semanticWeight: 1 },
} as const;
type Pipeline = keyof typeof pipelines;

/** Measures nDCG@10 of the labelled queries over the corpus with the built-in model, for each of the three. */
export async function measureQuality(): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'bench-quality-'));
  const log = createLog('error', systemClock);
  const db = await openEmbeddedDatabase({ dataDir, listen: null, log, clock: systemClock });
  try {
    await migrate(db, 'drizzle');
    const corpus = buildCorpus();
    await db.query(
      {
        text: `INSERT INTO execution_logs (level, message, repository, created_at)
          SELECT log->>'level', log->>'message', log->>'repository', now() - n * interval '1 minute'
          FROM json_array_elements($1::json) WITH ORDINALITY AS logs (log, n) ORDER BY n`,
      },
      [JSON.stringify(corpus)],
      { timeoutMs: 300_000 },
    );
    await activateBuiltIn(db);

    const gains = new Map<string, number[]>();
    for (const labelled of labelledQueries.slice(0, times(labelledQueries.length))) {
      const ideal = idealGain(labelled, corpus);
      if (ideal === 0) throw new Error(`nothing is labelled for ${labelled.query}`);
      for (const [name, weights] of Object.entries(pipelines)) {
        const { results } = await ask(db, labelled.query, { ...weights, limit: DEPTH });
        const grades = results.map(({ id }) => {
          const log = corpus[id - 1];
          return log ? labelled.grade(log) : 0;
        });
        const gain = discountedGain(grades) / ideal;
        for (const group of [labelled.kind, 'all']) {
          const key = `${group} ${name}`;
          gains.set(key, [...(gains.get(key) ?? []), gain]);
        }
      }
    }
    report(gains);
  } finally {
    await db.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

function report(gains: ReadonlyMap<string, readonly number[]>): void {
  const names = Object.keys(pipelines) as Pipeline[];
  const kinds = [...new Set(labelledQueries.map(({ kind }) => kind)), 'all'];
  const mean = (group: string, name: Pipeline) => {
    const values = gains.get(`${group} ${name}`) ?? [];
    return values.reduce((sum, value) => sum + value, 0) / values.length;
  };
  printTable(
    `nDCG@${DEPTH} of ${labelledQueries.length} labelled queries, built-in model`,
    ['queries', ...names],
    kinds.map((kind) => [kind, ...names.map((name) => mean(kind, name).toFixed(3))]),
  );
  const hybrid = mean('all', 'hybrid');
  const best = Math.max(mean('all', 'full text alone'), mean('all', 'vectors alone'));
  process.stdout.write(
    `\nHybrid beats both: ${hybrid > best ? 'reached' : 'MISSED'} (${hybrid.toFixed(3)} against ${best.toFixed(3)})\n`,
  );
}

/** The discounted cumulative gain of ordered grades: 2^grade - 1, divided by the logarithm of the position. */
function discountedGain(grades: readonly number[]): number {
  return grades
    .slice(0, DEPTH)
    .reduce((sum, grade, place) => sum + (2 ** grade - 1) / Math.log2(place + 2), 0);
}

function idealGain(labelled: LabelledQuery, corpus: readonly CorpusLog[]): number {
  return discountedGain(corpus.map((log) => labelled.grade(log)).sort((a, b) => b - a));
}
