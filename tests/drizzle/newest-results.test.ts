import type { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { newestResults } from '../../lib/records/base/newest-results.ts';
import { connect } from '../support/connection.ts';
import { useDatabase } from '../support/hooks.ts';

// Compares newest_results with a plain query for the same result, using plain SQL from several connections.

const database = useDatabase();
let reader: Client;
let writers: Client[];
let runId: number;

beforeAll(async () => {
  reader = await connect(database.url);
  writers = await Promise.all(Array.from({ length: 4 }, () => connect(database.url)));
  for (const writer of writers) await writer.query("SET lock_timeout = '5s'");
});
afterAll(async () => {
  await Promise.all([reader, ...writers].map((client) => client.end()));
});
beforeEach(async () => {
  await reader.query('TRUNCATE backup_runs CASCADE');
  const { rows } = await reader.query('INSERT INTO backup_runs DEFAULT VALUES RETURNING id');
  runId = rows[0].id;
});

const kept = async (client = reader) =>
  (
    await client.query(
      `WITH ${newestResults} SELECT repo_full_name, created_at::text, status FROM newest ORDER BY 1`,
    )
  ).rows;
const plain = async (client = reader) =>
  (
    await client.query(
      `SELECT DISTINCT ON (repo_full_name) repo_full_name, created_at::text, status
       FROM backup_results ORDER BY repo_full_name, created_at DESC, id DESC`,
    )
  ).rows;
const rowsOf = async (repo: string) =>
  (await reader.query('SELECT * FROM newest_results WHERE repo_full_name = $1', [repo])).rows;

/** Inserts a result at this minute of the hour and returns its id. */
const insert = async (client: Client, repo: string, minute: number, status = 'completed') => {
  const { rows } = await client.query(
    `INSERT INTO backup_results (run_id, repo_full_name, status, created_at)
     VALUES ($1, $2, $3, timestamptz '2026-01-01' + make_interval(mins => $4)) RETURNING id`,
    [runId, repo, status, minute],
  );
  return rows[0].id as number;
};
const writer = (n: number): Client => {
  const client = writers[n];
  if (!client) throw new Error(`there is no writer ${n}`);
  return client;
};

describe('newest_results', () => {
  it('holds the newest result by time, then by id, not by order of writing', async () => {
    await insert(reader, 'a/a', 10, 'newest');
    await insert(reader, 'a/a', 5, 'older');
    await insert(reader, 'a/b', 7, 'first');
    await insert(reader, 'a/b', 7, 'second of the same time');
    expect((await kept()).map((row) => row.status)).toEqual(['newest', 'second of the same time']);
    expect(await rowsOf('a/a')).toHaveLength(1);
  });

  it('refers to the table after its result was deleted, until a newer one is inserted', async () => {
    await insert(reader, 'a/a', 1, 'older');
    const newest = await insert(reader, 'a/a', 2, 'deleted');
    await reader.query('DELETE FROM backup_results WHERE id = $1', [newest]);
    expect(await kept()).toMatchObject([{ status: 'older' }]);
    expect(await rowsOf('a/a')).toMatchObject([{ stale: true }]);
    await insert(reader, 'a/a', 3, 'next');
    expect(await rowsOf('a/a')).toMatchObject([{ stale: false, status: 'next' }]);
  });

  it('omits a repository once its last result is deleted', async () => {
    await insert(reader, 'a/a', 1);
    await reader.query('DELETE FROM backup_results');
    expect(await kept()).toEqual([]);
  });

  it('follows a change of any column, including the name and the time', async () => {
    const first = await insert(reader, 'a/a', 1, 'first');
    await insert(reader, 'a/a', 2, 'second');
    const change = (set: string) =>
      reader.query(`UPDATE backup_results SET ${set} WHERE id = ${first}`);
    for (const set of [
      "created_at = '2027-01-01'",
      "status = 'changed'",
      "repo_full_name = 'b/b'",
      "created_at = '2020-01-01', repo_full_name = 'a/a'",
    ]) {
      await change(set);
      expect(await kept()).toEqual(await plain());
    }
  });

  it('is empty after TRUNCATE, and after its run is deleted', async () => {
    await insert(reader, 'a/a', 1);
    await reader.query('TRUNCATE backup_results');
    expect(await rowsOf('a/a')).toEqual([]);
    await insert(reader, 'a/a', 1);
    await reader.query('DELETE FROM backup_runs');
    expect(await kept()).toEqual([]);
  });

  it('lets writers of the same repository proceed without waiting for each other', async () => {
    await insert(reader, 'a/a', 1, 'first');
    await writer(0).query('BEGIN');
    await insert(writer(0), 'a/a', 3, 'open');
    await writer(1).query("SET lock_timeout = '1ms'");
    await insert(writer(1), 'a/a', 2, 'meanwhile');
    await writer(1).query("DELETE FROM backup_results WHERE status = 'first'");
    await writer(1).query("SET lock_timeout = '5s'");
    expect(await kept()).toMatchObject([{ status: 'meanwhile' }]);
    await writer(0).query('COMMIT');
    expect(await kept()).toMatchObject([{ status: 'open' }]);
  });

  it('is right after a result is deleted while another writer holds its row', async () => {
    await insert(reader, 'a/a', 1, 'first');
    await insert(reader, 'a/a', 2, 'second');
    await writer(0).query('BEGIN');
    await insert(writer(0), 'a/a', 3, 'undone');
    await writer(1).query("DELETE FROM backup_results WHERE status = 'second'");
    expect(await kept()).toMatchObject([{ status: 'first' }]);
    await writer(0).query('ROLLBACK');
    expect(await kept()).toMatchObject([{ status: 'first' }]);
  });

  it('is right for a transaction that reads its own writes, and after a savepoint', async () => {
    await insert(reader, 'a/a', 1, 'first');
    await writer(0).query('BEGIN');
    await insert(writer(0), 'a/a', 2, 'second');
    await writer(0).query('SAVEPOINT here');
    await insert(writer(0), 'a/a', 3, 'third');
    await writer(0).query("DELETE FROM backup_results WHERE status <> 'third'");
    expect(await kept(writer(0))).toMatchObject([{ status: 'third' }]);
    await writer(0).query('ROLLBACK TO here');
    expect(await kept(writer(0))).toMatchObject([{ status: 'second' }]);
    await writer(0).query('COMMIT');
    expect(await kept()).toMatchObject([{ status: 'second' }]);
  });

  it.each(['REPEATABLE READ', 'SERIALIZABLE'])('is right for a %s writer', async (level) => {
    await insert(reader, 'a/a', 1, 'first');
    await writer(0).query(`BEGIN ISOLATION LEVEL ${level}`);
    await writer(0).query('SELECT 1 FROM backup_runs');
    await insert(reader, 'a/a', 2, 'second');
    await insert(writer(0), 'a/a', 3, 'third');
    await writer(0).query("DELETE FROM backup_results WHERE status = 'first'");
    await writer(0).query('COMMIT');
    expect(await kept()).toMatchObject([{ status: 'third' }]);
  });

  it('causes no conflict between SERIALIZABLE writers that only insert', async () => {
    await insert(reader, 'a/a', 1);
    for (const n of [0, 1]) await writer(n).query('BEGIN ISOLATION LEVEL SERIALIZABLE');
    await insert(writer(0), 'a/a', 2);
    await insert(writer(1), 'a/a', 3, 'newest');
    for (const n of [0, 1]) await writer(n).query('COMMIT');
    expect(await kept()).toMatchObject([{ status: 'newest' }]);
  });

  it('requires no rights of writers on the summary', async () => {
    await reader.query(`DROP ROLE IF EXISTS plain_writer; CREATE ROLE plain_writer;
      GRANT SELECT, INSERT, DELETE ON backup_results TO plain_writer;
      GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO plain_writer`);
    await writer(0).query('SET ROLE plain_writer');
    await insert(writer(0), 'a/a', 1, 'by a plain writer');
    await writer(0).query('RESET ROLE');
    expect(await kept()).toMatchObject([{ status: 'by a plain writer' }]);
    await reader.query('DROP OWNED BY plain_writer; DROP ROLE plain_writer');
  });

  it('stays equal to the plain query under random writes in parallel transactions', async () => {
    const random = seeded(20261121);
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
    const repo = () => `o/${pick(['a', 'b', 'c'])}`;
    const someOf = () =>
      `id IN (SELECT id FROM backup_results WHERE repo_full_name = '${repo()}'
              ORDER BY created_at DESC LIMIT ${pick([1, 2])} FOR UPDATE SKIP LOCKED)`;
    const at = () =>
      `timestamptz '2026-01-01' + make_interval(mins => ${Math.floor(random() * 60)})`;
    const statements = [
      () => `INSERT INTO backup_results (run_id, repo_full_name, status, created_at)
             SELECT ${runId}, '${repo()}', 'n' || n, ${at()} FROM generate_series(1, 2) AS n`,
      () => `INSERT INTO backup_results (run_id, repo_full_name, created_at)
             VALUES (${runId}, '${repo()}', ${at()})`,
      () => `DELETE FROM backup_results WHERE ${someOf()}`,
      () => `UPDATE backup_results SET status = 'changed' WHERE ${someOf()}`,
      () => `UPDATE backup_results SET created_at = ${at()} WHERE ${someOf()}`,
      () => `UPDATE backup_results SET repo_full_name = '${repo()}' WHERE ${someOf()}`,
    ];
    for (let round = 0; round < 40; round++) {
      // Steps of the four transactions interleave at random; each commits or rolls back.
      await Promise.all(
        writers.map(async (client) => {
          await client.query('BEGIN');
          for (let n = 0; n < 4; n++) await client.query(pick(statements)());
          await client.query(pick(['COMMIT', 'COMMIT', 'ROLLBACK']));
        }),
      );
      expect(await kept()).toEqual(await plain());
    }
    const { rows } = await reader.query('SELECT count(*)::int AS count FROM newest_results');
    expect(rows[0].count).toBeLessThanOrEqual(3 * 2 * writers.length);
  });
});

/** Pseudorandom numbers from 0 to 1, the same in every run (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
