import type { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { connect } from '../support/connection.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { countSummaryRows, findWrongFigures } from '../support/summaries.ts';

let database: TestDatabase;
let clients: Client[];
beforeEach(async () => {
  database = await createPostgres();
  clients = [];
});
afterEach(async () => {
  for (const client of clients) await client.end();
  await database.close();
});

async function connectOther(): Promise<Client> {
  const client = await connect(database.url);
  clients.push(client);
  // A writer that has to wait for another fails.
  await client.query("SET lock_timeout = '1s'");
  return client;
}

const runs = 'INSERT INTO backup_runs SELECT FROM generate_series(1, 40)';
const log = "INSERT INTO execution_logs (run_id, level, created_at) VALUES (1, 'info', 'epoch')";
const result = `INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes)
  VALUES (1, 'o/r', 5)`;
const manyLogs = `INSERT INTO execution_logs (run_id, level, created_at)
  SELECT n, 'info', 'epoch' FROM generate_series(1, 40) AS n`;
const manyResults = `INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes)
  SELECT n, 'o/r' || n, 5 FROM generate_series(1, 40) AS n`;
const everything = [log, manyLogs, result, manyResults].join(';');

describe('writers with open transactions', () => {
  it.each([
    { level: 'READ COMMITTED', statements: everything },
    { level: 'REPEATABLE READ', statements: everything },
    { level: 'SERIALIZABLE', statements: `${log}; ${manyLogs}` },
  ])(
    'of one run, level and hour never wait for each other under $level',
    async ({ level, statements }) => {
      const [first, second, third] = [
        await connectOther(),
        await connectOther(),
        await connectOther(),
      ];
      await first.query(`${runs}; ${statements}`);
      const writers = [first, second, third];
      for (const writer of writers) await writer.query(`BEGIN ISOLATION LEVEL ${level}`);
      for (const writer of [...writers, ...writers]) {
        await writer.query(statements);
        // A serializable transaction conflicts with what it has read.
        if (level !== 'SERIALIZABLE') expect(await findWrongFigures(writer)).toEqual([]);
      }
      await first.query('COMMIT');
      await second.query('ROLLBACK');
      await third.query(statements);
      await third.query('COMMIT');
      expect(await findWrongFigures(first)).toEqual([]);
    },
  );

  it('read no summary under SERIALIZABLE, so that they do not conflict', async () => {
    const writer = await connectOther();
    await writer.query(runs);
    await writer.query('BEGIN ISOLATION LEVEL SERIALIZABLE');
    await writer.query(`${everything}; ${everything}`);
    const { rows } = await writer.query(`
      SELECT relation::regclass::text FROM pg_locks WHERE mode = 'SIReadLock'
        AND relation::regclass::text ~ 'execution_log_counts|backup_result_totals'`);
    expect(rows).toEqual([]);
    await writer.query('ROLLBACK');
  });

  it('change and delete rows of one key without waiting for each other', async () => {
    const [first, second] = [await connectOther(), await connectOther()];
    await first.query(`${runs}; ${manyLogs}; ${manyLogs}; ${manyResults}; ${manyResults}`);
    await first.query(`BEGIN; UPDATE execution_logs SET level = 'warn' WHERE id <= 40;
      UPDATE backup_results SET archive_size_bytes = 6 WHERE id <= 40`);
    await second.query(`BEGIN; DELETE FROM execution_logs WHERE id > 40;
      DELETE FROM backup_results WHERE id > 40`);
    expect(await findWrongFigures(first)).toEqual([]);
    expect(await findWrongFigures(second)).toEqual([]);
    await second.query('COMMIT');
    await first.query('COMMIT');
    expect(await findWrongFigures(first)).toEqual([]);
  });

  it('read exact totals while others write', async () => {
    const [writer, reader] = [await connectOther(), await connectOther()];
    await writer.query(`${runs}; ${everything}; BEGIN; ${everything}`);
    expect(await findWrongFigures(reader)).toEqual([]);
    await reader.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
    await writer.query(`COMMIT; ${everything}`);
    expect(await findWrongFigures(reader)).toEqual([]);
  });

  it('leave rows that the next writer merges', async () => {
    const writers = await Promise.all(Array.from({ length: 8 }, connectOther));
    const [first] = writers;
    if (!first) throw new Error('no writer');
    await first.query(runs);
    for (const writer of writers) await writer.query(`BEGIN; ${log}; ${result}`);
    for (const writer of writers) await writer.query('COMMIT');
    expect(await countSummaryRows(first)).toEqual({ logs: 8, results: 8 });
    await first.query(`${log}; ${result}`);
    expect(await countSummaryRows(first)).toEqual({ logs: 1, results: 1 });
    expect(await findWrongFigures(first)).toEqual([]);
  });

  it('leave rows that later ones merge, even at a stricter isolation level', async () => {
    const writer = await connectOther();
    await writer.query(runs);
    await writer.query("SET default_transaction_isolation = 'repeatable read'");
    for (let n = 0; n < 30; n++) await writer.query(`${log}; ${result}`);
    await writer.query('RESET default_transaction_isolation');
    for (let n = 0; n < 3; n++) await writer.query(`${log}; ${result}`);
    expect(await countSummaryRows(writer)).toEqual({ logs: 1, results: 1 });
    expect(await findWrongFigures(writer)).toEqual([]);
  });

  it('are counted exactly even if the snapshot of a TRUNCATE is older than their commit', async () => {
    const [writer, truncater] = [await connectOther(), await connectOther()];
    await writer.query(`${runs}; ${everything}`);
    await truncater.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
    await writer.query(manyLogs.replace('info', 'warn'));
    await writer.query(manyResults);
    await truncater.query('TRUNCATE execution_logs, backup_results; COMMIT');
    expect(await findWrongFigures(writer)).toEqual([]);
  });
});

/** A random statement of one writer, which only touches its own rows. */
function randomStatement(name: string, random: () => number): string {
  const pick = <T>(...choices: T[]): T => choices[Math.floor(random() * choices.length)] as T;
  const run = pick('NULL', '1', '2', '3');
  const level = pick('info', 'warn', 'ERROR');
  const time = pick('epoch', '2024-05-01T10:00:00Z');
  const some = `repository = '${name}' AND id % 3 = ${pick(0, 1, 2)}`;
  const someResults = `repo_full_name = '${name}' AND id % 3 = ${pick(0, 1, 2)}`;
  return pick(
    `INSERT INTO execution_logs (run_id, level, repository, created_at)
       VALUES (${run}, '${level}', '${name}', '${time}')`,
    `INSERT INTO execution_logs (run_id, level, repository, created_at)
       SELECT n, '${level}', '${name}', '${time}' FROM generate_series(1, 30) AS n`,
    `UPDATE execution_logs SET level = '${level}' WHERE ${some}`,
    `UPDATE execution_logs SET run_id = ${run}, created_at = '${time}' WHERE ${some}`,
    `DELETE FROM execution_logs WHERE ${some}`,
    `INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes)
       VALUES (${pick(1, 2, 3)}, '${name}', ${pick(0, 5, 1_000_000)})`,
    `INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes)
       SELECT n, '${name}', n FROM generate_series(1, 30) AS n`,
    `UPDATE backup_results SET archive_size_bytes = 7 WHERE ${someResults}`,
    `UPDATE backup_results SET run_id = ${pick(1, 2, 3)} WHERE ${someResults}`,
    `DELETE FROM backup_results WHERE ${someResults}`,
  );
}

/** Pseudorandom numbers from 0 to 1, the same in every run (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

it('totals are exact after 200 random statements of each of eight writers, at both isolation levels', async () => {
  const writers = await Promise.all(Array.from({ length: 8 }, connectOther));
  const [first] = writers;
  if (!first) throw new Error('no writer');
  await first.query(runs);
  await Promise.all(
    writers.map(async (writer, index) => {
      const random = createRandom(index);
      const statement = () => randomStatement(`writer ${index}`, random);
      for (let sent = 0; sent < 200; sent += 4) {
        const level = random() < 0.3 ? 'REPEATABLE READ' : 'READ COMMITTED';
        await writer.query(`BEGIN ISOLATION LEVEL ${level}`);
        await writer.query(`${statement()}; SAVEPOINT here`);
        await writer.query(statement());
        await writer.query(`${random() < 0.5 ? 'ROLLBACK TO' : 'RELEASE'} here`);
        await writer.query(statement());
        await writer.query(random() < 0.8 ? 'COMMIT' : 'ROLLBACK');
        await writer.query(statement());
      }
    }),
  );
  expect(await findWrongFigures(first)).toEqual([]);
});

describe('a writer with rights only on the tables of the contract', () => {
  let writer: Client;
  beforeEach(async () => {
    const owner = await connectOther();
    const role = `writer_${new URL(database.url).pathname.slice(1)}`;
    await owner.query(`${runs}; CREATE ROLE ${role};
      GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE ON execution_logs, backup_results TO ${role};
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO ${role}; GRANT TEMPORARY ON DATABASE
      ${new URL(database.url).pathname.slice(1)} TO ${role}`);
    writer = await connectOther();
    await writer.query(`SET ROLE ${role}`);
    // Roles belong to the server, so this one is dropped after the database.
    return async () => {
      const server = await connect(inject('postgresUrl'));
      await server.query(`DROP ROLE ${role}`);
      await server.end();
    };
  });

  it('updates the summaries through triggers, but cannot write to them', async () => {
    await writer.query(everything);
    await writer.query("UPDATE execution_logs SET level = 'warn' WHERE id < 10");
    await writer.query('DELETE FROM backup_results WHERE id < 10');
    await expect(writer.query('DELETE FROM execution_log_counts')).rejects.toMatchObject({
      code: '42501',
    });
    await writer.query('RESET ROLE');
    expect(await findWrongFigures(writer)).toEqual([]);
  });

  it('cannot shadow a summary with its own table', async () => {
    await writer.query(`CREATE TEMPORARY TABLE execution_log_counts
      (id bigserial, run_key bigint, level text, hour timestamptz, log_count bigint)`);
    await writer.query(everything);
    await writer.query('DROP TABLE pg_temp.execution_log_counts; RESET ROLE');
    expect(await findWrongFigures(writer)).toEqual([]);
    expect((await countSummaryRows(writer)).logs).toBeGreaterThan(0);
  });

  it('can write with an empty search_path', async () => {
    await writer.query("SET search_path = ''");
    await writer.query("INSERT INTO public.execution_logs (level) VALUES ('info')");
    await writer.query('RESET search_path; RESET ROLE');
    expect(await findWrongFigures(writer)).toEqual([]);
  });
});
