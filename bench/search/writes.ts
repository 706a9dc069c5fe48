import type { Client } from 'pg';
import { ms, printTable, quantile, ratio } from '../report.ts';
import { times } from '../share.ts';
import { messageOf } from './data.ts';

const ROUNDS = times(12);
const ROWS = times(10_000);
const COPY = 'logs_without_full_text';

/** Measures what full text costs a writer: the same insert into tables with and without the index. */
export async function measureIndexWrites(client: Client): Promise<void> {
  await client.query(`CREATE TABLE ${COPY} (LIKE execution_logs INCLUDING ALL)`);
  const { rows } = await client.query<{ name: string }>(
    `SELECT indexname AS name FROM pg_indexes
     WHERE tablename = '${COPY}' AND indexdef LIKE '%search_document%'`,
  );
  for (const { name } of rows) await client.query(`DROP INDEX "${name}"`);
  const triggers = ['count_added_logs AFTER INSERT', 'REFERENCING NEW TABLE AS added_rows'];
  await client.query(`CREATE TRIGGER ${triggers[0]} ON ${COPY} ${triggers[1]}
    FOR EACH STATEMENT EXECUTE FUNCTION count_execution_logs()`);

  const times: { without: number; with: number }[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const without = await timeInsert(client, COPY, round);
    const withIndex = await timeInsert(client, 'execution_logs', round);
    if (round > 0) times.push({ without, with: withIndex });
  }
  const ratios = times.map((pair) => pair.with / pair.without);
  const extra = quantile(
    times.map((pair) => ((pair.with - pair.without) * 1000) / ROWS),
    0.5,
  );
  printTable(
    `Inserts of ${ROWS} logs with and without the index for full text, ${ROUNDS} pairs`,
    ['without', 'with', 'with / without (median of pairs)', 'more for each row'],
    [
      [
        ms(
          quantile(
            times.map((pair) => pair.without),
            0.5,
          ),
        ),
        ms(
          quantile(
            times.map((pair) => pair.with),
            0.5,
          ),
        ),
        `${ratio(quantile(ratios, 0.5))} (${ratio(Math.min(...ratios))} to ${ratio(Math.max(...ratios))})`,
        `${extra.toFixed(0)} µs`,
      ],
    ],
  );
}

async function timeInsert(client: Client, table: string, round: number): Promise<number> {
  const start = performance.now();
  await client.query(
    `INSERT INTO ${table} (run_id, level, message, repository)
     SELECT 1, 'info', ${messageOf(0)}, 'owner-' || n % 20 || '/repository-' || n % 1000
     FROM generate_series(${round * ROWS + 1}, ${(round + 1) * ROWS}) AS n`,
  );
  return performance.now() - start;
}
