import { beforeAll, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { explainNothingFound } from '../../lib/search/nothing-found.ts';
import { connect } from '../support/connection.ts';
import { useDatabase } from '../support/hooks.ts';
import { sql } from '../support/records.ts';

// What it costs to explain an empty search on 100,000 answers.

const database = useDatabase();

beforeAll(async () => {
  await sql(
    database.db,
    `INSERT INTO chat_messages (username, role, content, request_id, status)
      SELECT 'user-' || n % 50, 'assistant', repeat('an answer ', 20), 'r' || n, 'completed'
      FROM generate_series(1, 100000) AS n`,
  );
  await sql(database.db, 'ANALYZE chat_messages');
});

it('a few pages are read to tell a user without answers that there are none', async () => {
  const asked: { text: string; values: unknown[] }[] = [];
  const db: Database = {
    ...database.db,
    query(statement, values = [], options) {
      asked.push({ text: statement.text, values: [...values] });
      return database.db.query(statement, values, options);
    },
  };
  const request = { query: 'x', sourceTypes: ['investigation' as const], investigationsOf: 'none' };
  expect(await explainNothingFound(db, request)).toContain('nothing of this kind');
  expect(await explainNothingFound(db, { ...request, investigationsOf: 'user-7' })).toContain(
    'records exist',
  );
  expect(asked).toHaveLength(2);
  const client = await connect(database.url);
  try {
    await client.query('SET plan_cache_mode = force_generic_plan');
    for (const { text, values } of asked) {
      const { rows } = await client.query(
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}`,
        values,
      );
      const { Plan: plan } = rows[0]['QUERY PLAN'][0];
      expect(plan['Shared Hit Blocks'] + plan['Shared Read Blocks']).toBeLessThan(20);
    }
  } finally {
    await client.end();
  }
});
