import { beforeAll, describe, expect, it } from 'vitest';
import { parseQuery } from '../../lib/search/parse-query.ts';
import { connect } from '../support/connection.ts';
import { useDatabase } from '../support/hooks.ts';
import { sql } from '../support/records.ts';
import { find } from '../support/search.ts';

// How many pages of a large table a full-text search reads, for words of any frequency and with and without planner
// statistics. The table and its index have more than 3,000.

const LOGS = 150_000;
const database = useDatabase();

beforeAll(async () => {
  const { db } = database;
  await db.query(
    {
      text: `INSERT INTO execution_logs (message, repository, created_at)
        SELECT 'step ' || n || ' of the backup' || CASE WHEN n % 5 = 0 THEN ' timeout' ELSE '' END
            || CASE WHEN n % ${LOGS / 4} = 17 THEN ' EHOSTUNREACH' ELSE '' END
            || CASE WHEN n < ${LOGS / 3} AND n % 50 = 1 THEN ' handshake' ELSE '' END,
          'owner/repo-' || n % 100, now() - make_interval(secs => ${LOGS} - n)
        FROM generate_series(1, ${LOGS}) AS n`,
    },
    [],
    { timeoutMs: 300_000 },
  );
}, 300_000);

/** Pages that one search reads, cached or from disk. */
async function pagesRead(word: string): Promise<number> {
  const client = await connect(database.url);
  try {
    const alternatives = JSON.stringify([[{ text: word, phrase: false, negated: false }]]);
    const statement = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM search_full_text(
      'execution_log', ${client.escapeLiteral(alternatives)}::jsonb, NULL, NULL, 100, 10)`;
    // The first call of a connection also reads the catalogue.
    await client.query(statement);
    const { rows } = await client.query(statement);
    const { Plan: plan } = rows[0]['QUERY PLAN'][0];
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  } finally {
    await client.end();
  }
}

describe.each([
  ['never analysed, and its index not merged', null],
  ['analysed', 'VACUUM ANALYZE execution_logs'],
])('a table that was %s', (_name, prepare) => {
  beforeAll(async () => {
    if (prepare !== null) await sql(database.db, prepare);
  });

  it.each([
    ['a rare word', 'EHOSTUNREACH'],
    ['a word in 20 % of all rows', 'timeout'],
    ['a word in every row', 'backup'],
    ['a word of old rows', 'handshake'],
    ['a word that occurs nowhere', 'zeppelin'],
    ['a name', 'owner/repo-7'],
    ['the beginning of a word', 'timeo'],
  ])('is read in few pages for %s', async (_what, word) => {
    expect(await pagesRead(word)).toBeLessThan(1_500);
  });

  it('finds the newest rows of a common word', async () => {
    const newest = Array.from({ length: 10 }, (_, n) => `execution_log ${LOGS - 5 * n}`);
    expect(await find(database.db, 'timeout')).toEqual(newest);
  });

  it('finds all rows of a rare word', async () => {
    expect(await find(database.db, 'EHOSTUNREACH')).toHaveLength(4);
  });
});

it('a table is also read in few pages while recent rows are not merged into the index', async () => {
  const { db } = database;
  await sql(db, `SELECT gin_clean_pending_list('execution_logs_document')`);
  // About 3 MB in the index, less than Postgres merges by itself.
  await sql(
    db,
    `INSERT INTO execution_logs (message, repository)
     SELECT 'step ' || n || ' of the backup', 'owner/repo-' || n % 100
     FROM generate_series(1, 9000) AS n`,
  );
  expect(await pagesRead('zeppelin')).toBeLessThan(2_000);
});

describe('search_full_text', () => {
  /** What one list returns within some milliseconds. */
  const within = (query: string, milliseconds: number, find = 'search_full_text') =>
    sql<{ row_id: string | null }>(
      database.db,
      `SELECT row_id::text FROM ${find}('execution_log', $1::jsonb, NULL, NULL, 100, 10,
         clock_timestamp() + $2 * interval '1 ms')`,
      [JSON.stringify(parseQuery(query).alternatives), milliseconds],
    );
  const cut = [{ row_id: null }];

  it.each([
    ['a phrase of words in every row that never meet', '"step backup"'],
    ['a phrase of inflected words', '"stepping backups"'],
    ['a word and an excluded one', 'timeout -backup'],
    ['a stop word and an excluded word', 'the -backup'],
    ['many phrases', Array.from({ length: 48 }, (_, n) => `"backup step ${n}" or`).join(' ')],
  ])('reports that it ran out of time for %s', async (_what, query) => {
    expect(await within(query, 60)).toEqual(cut);
  });

  it('reports that it ran out of time even before it starts', async () => {
    expect(await within('EHOSTUNREACH', -1)).toEqual(cut);
    expect(await within('backup zeppelin', -1, 'search_most_words')).toEqual(cut);
  });

  it('finds a phrase in all rows when it has enough time', async () => {
    expect(await within('"12345 of the backup"', 60_000)).toEqual([{ row_id: '12345' }]);
  });
});
