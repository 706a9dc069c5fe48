import type { Database } from '../../lib/database/database.ts';
import { embedByHashing, hashingModel } from '../../lib/search/embedders/hashing.ts';
import { buildVectorIndex } from '../../lib/search/vector-index.ts';
import { ms, printTable, quantile } from '../report.ts';
import { times } from '../share.ts';
import { buildCorpus } from './corpus.ts';

const DEPTH = 10;
const QUERIES = times(100);
const ROWS_A_STATEMENT = 500;
const GENERATION = 1;

/** The `n`-th embedded text: a line of the corpus, made unique with numbers and words. */
function textOf(n: number, lines: readonly string[]): string {
  const line = lines[n % lines.length] ?? '';
  const tail = (n * 2_654_435_761) >>> 0;
  return `${line} step ${n % 977} of job-${tail.toString(36)} on host-${n % 61}`;
}

/** Stores chunks of the first logs, an ACTIVE generation and its index, as process-batch would. */
export async function embedChunks(db: Database, chunks: number): Promise<void> {
  const lines = buildCorpus().map(({ message }) => message);
  await db.query({
    text: `INSERT INTO embedding_generations (id, model_id, dimensions, status, activated_at)
      VALUES (${GENERATION}, '${hashingModel.id}', ${hashingModel.dimensions}, 'ACTIVE', now())`,
  });
  const start = performance.now();
  for (let first = 1; first <= chunks; first += ROWS_A_STATEMENT) {
    const rows = Array.from({ length: Math.min(ROWS_A_STATEMENT, chunks - first + 1) }, (_, n) => {
      const content = textOf(first + n, lines);
      return { id: first + n, content, embedding: `[${embedByHashing(content).join(',')}]` };
    });
    await db.query(
      {
        text: `INSERT INTO embedding_chunks (generation_id, source_type, source_id, chunk_index,
            content, source_created_at, embedding)
          SELECT ${GENERATION}, 'execution_log', row->>'id', 0, row->>'content', now(),
            (row->>'embedding')::vector
          FROM json_array_elements($1::json) AS row`,
      },
      [JSON.stringify(rows)],
      { timeoutMs: 600_000 },
    );
  }
  const stored = performance.now();
  await buildVectorIndex(
    db,
    { id: GENERATION, dimensions: hashingModel.dimensions, is_embedded: db.driver === 'embedded' },
    chunks,
  );
  await db.query({ text: 'VACUUM (ANALYZE) embedding_chunks' }, [], { timeoutMs: 600_000 });
  process.stderr.write(
    `${chunks} chunks: ${seconds(stored - start)}, their index: ${seconds(performance.now() - stored)}\n`,
  );
}

/** Measures how many of the 10 nearest chunks the search finds, compared with an exact search. */
export async function measureRecall(db: Database, chunks: number): Promise<void> {
  const lines = buildCorpus().map(({ message }) => message);
  const shares: number[] = [];
  const times = { search: [] as number[], exact: [] as number[] };
  for (let n = 0; n < QUERIES; n++) {
    const words = textOf(n * 7_919 + 13, lines).split(' ');
    const target = `[${embedByHashing(words.filter((_, at) => at % 3 !== n % 3).join(' ')).join(',')}]`;
    const found = await nearest(db, times.search, {
      text: `SELECT chunk_id::text AS id FROM search_vectors($1::int, $2::int, $3::text,
        '{execution_log,backup_result,investigation}', 100) ORDER BY similarity DESC LIMIT ${DEPTH}`,
      values: [GENERATION, hashingModel.dimensions, target],
    });
    const exact = await nearest(db, times.exact, {
      text: `SELECT id::text AS id FROM embedding_chunks WHERE generation_id + 0 = $1::int
        ORDER BY (embedding::vector(${hashingModel.dimensions}) <=> $2::vector) + 0 LIMIT ${DEPTH}`,
      values: [GENERATION, target],
    });
    shares.push(exact.filter((id) => found.includes(id)).length / exact.length);
  }
  const recall = shares.reduce((sum, share) => sum + share, 0) / shares.length;
  printTable(
    `Recall of vectors, ${chunks} chunks of ${hashingModel.dimensions} dimensions, ${QUERIES} queries`,
    ['recall@10', 'worst query', 'by the index (median)', 'exact scan (median)', 'goal'],
    [
      [
        recall.toFixed(3),
        Math.min(...shares).toFixed(2),
        ms(quantile(times.search, 0.5)),
        ms(quantile(times.exact, 0.5)),
        recall >= 0.95 ? 'reached' : 'MISSED (0.95)',
      ],
    ],
  );
}

async function nearest(
  db: Database,
  times: number[],
  { text, values }: { text: string; values: (string | number)[] },
): Promise<string[]> {
  const start = performance.now();
  const rows = await db.query<{ id: string }>({ text }, values, { timeoutMs: 60_000 });
  times.push(performance.now() - start);
  return rows.map(({ id }) => id);
}

const seconds = (milliseconds: number) => `${(milliseconds / 1000).toFixed(1)} s`;
