import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connect } from '../support/connection.ts';
import { useDatabase } from '../support/hooks.ts';
import { findWrongFigures, someRows } from '../support/summaries.ts';

const database = useDatabase();
let client: Client;

beforeAll(async () => {
  client = await connect(database.url);
  await client.query(someRows);
});
afterAll(() => client.end());

it.each(['execution_log_counts', 'backup_result_totals', 'newest_results'])(
  'a data-only restore that includes rows of %s does not double totals',
  async (summary) => {
    await client.query(`CREATE TEMP TABLE dump AS SELECT * FROM ${summary};
      INSERT INTO ${summary} OVERRIDING SYSTEM VALUE SELECT * FROM dump;
      DROP TABLE dump`);
    expect(await findWrongFigures(client)).toEqual([]);
  },
);

it('rows written by a session in replica mode are counted', async () => {
  await client.query(`SET session_replication_role = replica;
    INSERT INTO execution_logs (level) VALUES ('info');
    INSERT INTO backup_results (run_id, repo_full_name, archive_size_bytes) VALUES (1, 'o/new', 7);
    DELETE FROM execution_logs WHERE level = 'warn';
    RESET session_replication_role`);
  expect(await findWrongFigures(client)).toEqual([]);
  const { rows } = await client.query(
    "SELECT archive_size_bytes::int AS size FROM newest_results WHERE repo_full_name = 'o/new'",
  );
  expect(rows).toEqual([{ size: 7 }]);
});

it('a result without a repository is accepted, because old tables allow it', async () => {
  await client.query('ALTER TABLE backup_results ALTER COLUMN repo_full_name DROP NOT NULL');
  await client.query('INSERT INTO backup_results (run_id, archive_size_bytes) VALUES (1, 5)');
  await client.query("UPDATE backup_results SET status = 'failed' WHERE repo_full_name IS NULL");
  expect(await findWrongFigures(client)).toEqual([]);
});
