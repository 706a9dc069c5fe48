import type { Client } from 'pg';
import { ms, printTable, quantile, ratio } from '../report.ts';
import { times } from '../share.ts';

const ROUNDS = times(15);

const inserts: Record<string, (table: string) => string> = {
  '10,000 logs of one run in one statement': (table) =>
    `INSERT INTO ${table} (run_id, level, message, repository)
     SELECT 1, (ARRAY['info', 'debug', 'warn', 'error'])[1 + n % 4], 'message ' || n, 'owner/name'
     FROM generate_series(1, 10000) AS n`,
  '10,000 logs of 100 runs in one statement': (table) =>
    `INSERT INTO ${table} (run_id, level, message, repository)
     SELECT n % 100 + 1, (ARRAY['info', 'debug', 'warn', 'error'])[1 + n % 4], 'message ' || n,
            'owner/name'
     FROM generate_series(1, 10000) AS n`,
};

/** Measures what the summaries cost a writer: the same insert with and without the triggers. */
export async function measureWrites(client: Client): Promise<void> {
  await client.query('CREATE TABLE logs_without_summaries (LIKE execution_logs INCLUDING ALL)');
  await client.query('INSERT INTO logs_without_summaries SELECT * FROM execution_logs');
  await client.query('VACUUM ANALYZE logs_without_summaries');
  const rows: string[][] = [];
  for (const [what, insert] of Object.entries(inserts)) {
    const pairs: { kept: number; plain: number }[] = [];
    for (let round = 0; round <= ROUNDS; round++) {
      const plain = await timeInsert(client, insert('logs_without_summaries'));
      const kept = await timeInsert(client, insert('execution_logs'));
      if (round > 0) pairs.push({ kept, plain });
    }
    const ratios = pairs.map((pair) => pair.kept / pair.plain);
    const median = quantile(ratios, 0.5);
    rows.push([
      what,
      ms(
        quantile(
          pairs.map((pair) => pair.plain),
          0.5,
        ),
      ),
      ms(
        quantile(
          pairs.map((pair) => pair.kept),
          0.5,
        ),
      ),
      `${ratio(median)} (${ratio(Math.min(...ratios))} to ${ratio(Math.max(...ratios))})`,
      median <= 1.5 ? 'reached' : 'MISSED (1.5×)',
    ]);
  }
  printTable(
    `Bulk inserts with and without summaries, ${ROUNDS} pairs`,
    ['insert', 'without', 'with', 'with / without (median of pairs)', 'goal'],
    rows,
  );
}

async function timeInsert(client: Client, insert: string): Promise<number> {
  const start = performance.now();
  await client.query(insert);
  return performance.now() - start;
}
