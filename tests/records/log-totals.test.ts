import { afterEach, beforeEach, expect, it } from 'vitest';
import { listLogs } from '../../lib/records/logs/list.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { plannersEstimate, sql } from '../support/records.ts';

let database: TestDatabase;

beforeEach(async () => {
  database = await createPostgres();
  await sql(database.db, 'ALTER TABLE execution_logs SET (autovacuum_enabled = false)');
  // The triggers keep counts, which these totals are not based on.
  await sql(database.db, 'ALTER TABLE execution_logs DISABLE TRIGGER USER');
});
afterEach(() => database.close());

const total = async () => (await listLogs(database.db, { page: 1, limit: 1 }, {})).totalItems;
const fill = (count: number) =>
  sql(
    database.db,
    `INSERT INTO execution_logs (message) SELECT 'm' FROM generate_series(1, ${count})`,
  );

it('the total is the planner’s estimate before the first ANALYZE', async () => {
  await fill(30_000);
  expect(await plannersEstimate(database.db)).toBeGreaterThan(10_000);
  expect(await total()).toBe(await plannersEstimate(database.db));
});

it('the total is at least 10,000 if the planner estimates less', async () => {
  await fill(12_000);
  expect(await plannersEstimate(database.db)).toBeLessThan(10_000);
  expect(await total()).toBe(10_000);
});

it('the total is the planner’s estimate after the table grew since it was analysed', async () => {
  await fill(12_000);
  await sql(database.db, 'ANALYZE execution_logs');
  await fill(22_222);
  expect(await total()).toBe(await plannersEstimate(database.db));
});

it('the total is the planner’s estimate after the table was vacuumed while empty', async () => {
  await sql(database.db, 'VACUUM execution_logs');
  await fill(30_000);
  expect(await total()).toBe(await plannersEstimate(database.db));
});

it('the total is exact when few of many rows remain', async () => {
  await fill(30_000);
  await sql(database.db, 'ANALYZE execution_logs');
  await sql(database.db, 'DELETE FROM execution_logs WHERE id > 123');
  expect(await total()).toBe(123);
});
