import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connect } from '../support/connection.ts';
import { createPostgres } from '../support/databases.ts';
import { useDatabase } from '../support/hooks.ts';
import { countSummaryRows, findWrongFigures, someRows } from '../support/summaries.ts';

/** Changes that a writer may make, in plain SQL. */
const changes = {
  'INSERT of a log': "INSERT INTO execution_logs (run_id, level) VALUES (3, 'info')",
  'INSERT of a log of no run': "INSERT INTO execution_logs (run_id, level) VALUES (NULL, 'warn')",
  'INSERT of a log of no level': 'INSERT INTO execution_logs (run_id, level) VALUES (1, NULL)',
  'INSERT of no log': "INSERT INTO execution_logs (level) SELECT 'info' WHERE false",
  'INSERT of logs at the ends of time': `INSERT INTO execution_logs (level, created_at) VALUES
    ('info', 'infinity'), ('info', '-infinity'), ('info', '20000-01-01T00:30:00Z'),
    ('info', '4713-01-01 BC')`,
  'INSERT of logs of many runs': `INSERT INTO execution_logs (run_id, level)
    SELECT 1 + n % 100, (ARRAY['info', 'warn', 'debug'])[1 + n % 3] FROM generate_series(1, 1000) n`,
  'INSERT of logs one by one': `DO $$ BEGIN FOR n IN 1..50 LOOP
    INSERT INTO execution_logs (run_id, level) VALUES (n % 3, (ARRAY['info', 'warn'])[1 + n % 2]);
    END LOOP; END $$`,
  'COPY of logs': `COPY execution_logs (level, message) FROM PROGRAM 'printf "info\\ta\\nWARN\\tb\\n"'`,
  'UPDATE of levels': "UPDATE execution_logs SET level = 'debug' WHERE id % 3 = 0",
  'UPDATE of the runs of logs':
    'UPDATE execution_logs SET run_id = nullif(coalesce(run_id, 0) / 2, 0)',
  'UPDATE of times': "UPDATE execution_logs SET created_at = created_at + interval '1 day'",
  'UPDATE of messages': "UPDATE execution_logs SET message = 'other'",
  'UPDATE there and back': `UPDATE execution_logs SET level = 'debug' WHERE id = 1;
    UPDATE execution_logs SET level = 'info' WHERE id = 1`,
  'DELETE of some logs': 'DELETE FROM execution_logs WHERE id % 2 = 0',
  'DELETE of logs one by one': `DO $$ BEGIN FOR n IN 1..50 LOOP
    DELETE FROM execution_logs WHERE id = n; END LOOP; END $$`,
  'DELETE of all logs': 'DELETE FROM execution_logs',
  'TRUNCATE of logs': 'TRUNCATE execution_logs',
  'TRUNCATE of logs and new ones': `INSERT INTO execution_logs (run_id, level) VALUES (3, 'info');
    TRUNCATE execution_logs; INSERT INTO execution_logs (run_id, level) VALUES (3, 'info'), (4, 'info')`,
  'INSERT of a result': `INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes)
    VALUES (3, 'o/r', 5)`,
  'INSERT of a result of no size': `INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes)
    VALUES (3, 'o/r', NULL), (4, 'o/r', DEFAULT)`,
  'INSERT of sizes beyond bigint': `INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes)
    SELECT 1, 'o/r', 9223372036854775807 FROM generate_series(1, 3)`,
  'INSERT of results of many runs': `INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes)
    SELECT 1 + n % 40, 'o/r' || n, n FROM generate_series(1, 500) AS n`,
  'UPDATE of sizes': 'UPDATE backup_results SET archive_size_bytes = archive_size_bytes / 2 + 1',
  'UPDATE of the runs of results': 'UPDATE backup_results SET run_id = 1 + run_id % 7',
  'UPSERT of results': `INSERT INTO backup_results (id, run_id, repo_full_name, archive_size_bytes)
    SELECT n, 1, 'o/r', 3 FROM generate_series(190, 210) AS n
    ON CONFLICT (id) DO UPDATE SET archive_size_bytes = 11, run_id = 2`,
  'MERGE of results': `MERGE INTO backup_results USING generate_series(190, 210) AS n ON id = n
    WHEN MATCHED AND n % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET archive_size_bytes = n
    WHEN NOT MATCHED THEN INSERT (run_id, repo_full_name, archive_size_bytes) VALUES (1, 'o/r', n)`,
  'DELETE of a result': 'DELETE FROM backup_results WHERE id = 7',
  'DELETE of runs with their results': 'DELETE FROM backup_runs WHERE id % 2 = 0',
  'TRUNCATE of runs with their results': 'TRUNCATE backup_runs CASCADE',
  'several changes in one statement': `WITH moved AS (DELETE FROM execution_logs WHERE id < 30 RETURNING *),
      copied AS (INSERT INTO execution_logs (run_id, level) SELECT run_id, 'debug' FROM moved),
      changed AS (UPDATE execution_logs SET level = 'warn' WHERE id > 380)
    INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes)
    SELECT 9, 'o/r', count(*) FROM moved`,
};

const database = useDatabase();
let writer: Client;
let reader: Client;

beforeAll(async () => {
  writer = await connect(database.url);
  reader = await connect(database.url);
  await writer.query(someRows);
});
afterEach(async () => {
  await writer.query('ROLLBACK');
});
afterAll(async () => {
  await writer.end();
  await reader.end();
});

describe.each([
  { level: 'READ COMMITTED' },
  { level: 'REPEATABLE READ' },
  { level: 'SERIALIZABLE' },
])('summaries are exact under $level', ({ level }) => {
  it.each(Object.entries(changes))('after %s, at once and after a rollback', async (_, sql) => {
    await writer.query(`BEGIN ISOLATION LEVEL ${level}`);
    await writer.query(sql);
    expect(await findWrongFigures(writer)).toEqual([]);
    await writer.query(sql);
    expect(await findWrongFigures(writer)).toEqual([]);
    await writer.query('ROLLBACK');
    expect(await findWrongFigures(reader)).toEqual([]);
  });

  it('after a rollback to a savepoint', async () => {
    await writer.query(`BEGIN ISOLATION LEVEL ${level}`);
    const one = "INSERT INTO execution_logs (run_id, level) VALUES (5, 'info')";
    const results = `INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes)
        VALUES (5, 'o/r', 5)`;
    await writer.query(`${one}; ${results}; SAVEPOINT here; ${one}; ${one}; ${results}`);
    await writer.query(`ROLLBACK TO here; ${one}; ${results}`);
    expect(await findWrongFigures(writer)).toEqual([]);
    await writer.query(`SAVEPOINT there; TRUNCATE execution_logs; ROLLBACK TO there; ${one}`);
    expect(await findWrongFigures(writer)).toEqual([]);
    await writer.query(`SAVEPOINT more; ${one}; ${results}; RELEASE more; ${one}; COMMIT`);
    expect(await findWrongFigures(reader)).toEqual([]);
  });

  it('after each of many committed statements', async () => {
    const own = await createPostgres();
    const client = await connect(own.url);
    await client.query(someRows);
    await client.query(`SET default_transaction_isolation = '${level.toLowerCase()}'`);
    const other = await connect(own.url);
    const runs =
      'INSERT INTO backup_runs (id) SELECT generate_series(1, 40) ON CONFLICT DO NOTHING';
    for (const sql of Object.values(changes)) {
      await client.query(runs);
      await client.query(sql);
      expect(await findWrongFigures(other), sql).toEqual([]);
    }
    await client.end();
    await other.end();
    await own.close();
  });
});

describe('the rows of the summaries', () => {
  it('do not multiply with the statements of a transaction', async () => {
    for (const level of ['READ COMMITTED', 'REPEATABLE READ']) {
      await writer.query(`BEGIN ISOLATION LEVEL ${level}`);
      const before = await countSummaryRows(writer);
      await writer.query(`DO $$ BEGIN FOR n IN 1..100 LOOP
        INSERT INTO execution_logs (run_id, level) VALUES (777, 'info');
        INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes) VALUES (1, 'o/r', n);
        END LOOP; END $$`);
      const after = await countSummaryRows(writer);
      await writer.query('ROLLBACK');
      expect(after.logs - before.logs).toBe(1);
      expect(after.results - before.results).toBeLessThanOrEqual(1);
    }
  });

  it('are deleted when nothing is left to count', async () => {
    await writer.query('DELETE FROM execution_logs; DELETE FROM backup_runs');
    expect(await findWrongFigures(reader)).toEqual([]);
    await writer.query('TRUNCATE execution_logs, backup_results');
    expect(await countSummaryRows(reader)).toEqual({ logs: 0, results: 0 });
    await writer.query(`INSERT INTO backup_runs (id) VALUES (-1);
      INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes) VALUES (-1, 'o/r', 5);
      INSERT INTO execution_logs (level) VALUES ('info')`);
    expect(await countSummaryRows(reader)).toEqual({ logs: 1, results: 1 });
    await writer.query('DELETE FROM backup_runs; DELETE FROM execution_logs');
    expect(await countSummaryRows(reader)).toEqual({ logs: 0, results: 0 });
  });
});
