import { beforeAll, describe, expect, it } from 'vitest';
import { type LogFilter, listLogs } from '../../lib/records/logs/list.ts';
import { useDatabase } from '../support/hooks.ts';
import { sql } from '../support/records.ts';

const database = useDatabase();

// Only a few distinct times, so that equal ones span many pages: some in hours of their own, one at the very end of an
// hour, and infinite ones.
beforeAll(async () => {
  await sql(database.db, 'SELECT setseed(0.25)');
  await sql(
    database.db,
    `INSERT INTO execution_logs (run_id, level, created_at)
     SELECT nullif(floor(random() * 4)::int, 3), (ARRAY['info', 'INFO', 'warn', 'error'])[1 + floor(random() * 4)],
       (ARRAY['2026-03-01T10:00:00Z', '2026-03-01T10:59:59.999999Z', '2026-03-01T11:00:00Z',
              '2026-03-01T11:30:00Z', '2026-03-04T00:00:00.000001Z', '1969-12-31T23:59:59Z',
              'infinity', '-infinity', '2026-03-01T11:30:00Z'])[1 + floor(random() * 9)]::timestamptz
     FROM generate_series(1, 6000)`,
  );
  await sql(database.db, 'DELETE FROM execution_logs WHERE id % 7 = 0');
  await sql(database.db, `UPDATE execution_logs SET created_at = '2020-01-01Z' WHERE id % 11 = 0`);
});

async function idsInOrder({ level, runId }: LogFilter): Promise<number[]> {
  const rows = await sql<{ id: string }>(
    database.db,
    `SELECT log.id::text FROM execution_logs AS log
     WHERE ($1::text IS NULL OR lower(level) = $1) AND ($2::int IS NULL OR run_id = $2)
     ORDER BY log.created_at DESC, log.id DESC`,
    [level ?? null, runId ?? null],
  );
  return rows.map(({ id }) => Number(id));
}

const filters: [string, LogFilter][] = [
  ['all logs', {}],
  ['a level', { level: 'info' }],
  ['a run', { runId: 1 }],
  ['a level in a run', { level: 'info', runId: 0 }],
];

describe.each(filters)('the pages of %s', (_name, filter) => {
  it.each([37, 500])(
    'contain every log exactly once, in order, with %d items each',
    async (limit) => {
      const expected = await idsInOrder(filter);
      const walked: number[] = [];
      for (let page = 1; page <= Math.ceil(expected.length / limit) + 1; page++) {
        const { items } = await listLogs(database.db, { page, limit }, filter);
        walked.push(...JSON.parse(items).map((log: { id: number }) => log.id));
      }
      expect(walked).toEqual(expected);
    },
  );

  it('are empty past the end, whatever their number', async () => {
    for (const page of [1_000_000, 2 ** 31, Number.MAX_SAFE_INTEGER]) {
      const { items, totalItems } = await listLogs(database.db, { page, limit: 500 }, filter);
      expect(items).toBe('[]');
      expect(totalItems).toBe((await idsInOrder(filter)).length);
    }
  });
});

it('a deep page immediately shows what another connection wrote', async () => {
  const before = await listLogs(database.db, { page: 200, limit: 10 }, {});
  const text =
    "INSERT INTO execution_logs (created_at) SELECT 'infinity' FROM generate_series(1, 10)";
  await sql(database.db, text);
  expect((await listLogs(database.db, { page: 201, limit: 10 }, {})).items).toBe(before.items);
  await sql(database.db, 'DELETE FROM execution_logs WHERE id > 6000');
  expect((await listLogs(database.db, { page: 200, limit: 10 }, {})).items).toBe(before.items);
});
