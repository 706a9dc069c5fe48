import { describe, expect, it } from 'vitest';
import { connect } from '../support/connection.ts';
import { createEmbedded, createNeon, createPostgres } from '../support/databases.ts';
import { useDatabase } from '../support/hooks.ts';

describe.each([
  { driver: 'embedded', create: createEmbedded },
  { driver: 'pg', create: createPostgres },
  { driver: 'neon', create: createNeon },
])('the database over $driver', ({ driver, create }) => {
  const database = useDatabase(create);

  it('names its driver', () => {
    expect(database.db.driver).toBe(driver);
  });

  it('returns rows as objects', async () => {
    const rows = await database.db.query({ text: "SELECT 1 AS a, 'x' AS b, NULL AS c" });
    expect(rows).toEqual([{ a: 1, b: 'x', c: null }]);
  });

  it('accepts texts, numbers, booleans, null and arrays of them', async () => {
    const rows = await database.db.query(
      {
        text: `SELECT $1::text AS text, $2::bigint::text AS number, $3::boolean::text AS boolean,
          $4::text AS nothing, $5::text[]::text AS texts, $6::int[]::text AS numbers`,
      },
      ['ä \'"\\ $1', 9_007_199_254_740_991, true, null, ['a,"b', null], [1, 2]],
    );
    expect(rows).toEqual([
      {
        text: 'ä \'"\\ $1',
        number: '9007199254740991',
        boolean: 'true',
        nothing: null,
        texts: '{"a,\\"b",NULL}',
        numbers: '{1,2}',
      },
    ]);
  });

  it('runs a named statement again with other values', async () => {
    const statement = { name: 'double', text: 'SELECT 2 * $1::int AS doubled' };
    expect(await database.db.query(statement, [2])).toEqual([{ doubled: 4 }]);
    expect(await database.db.query(statement, [3])).toEqual([{ doubled: 6 }]);
  });

  it('keeps the change of a statement, and nothing of a failed one', async () => {
    const insert =
      "INSERT INTO users (username, password_hash) VALUES ($1, 'h') RETURNING 1 AS one";
    await database.db.query({ text: insert }, ['kept']);
    const failing = `WITH added AS (${insert}) SELECT one / (one - 1) FROM added`;
    await expect(database.db.query({ text: failing }, ['lost'])).rejects.toMatchObject({
      code: '22012',
    });
    const rows = await database.db.query({ text: 'SELECT username FROM users' });
    expect(rows).toEqual([{ username: 'kept' }]);
  });

  it('reads what another connection committed', async () => {
    const other = await connect(database.url);
    await other.query("INSERT INTO worker_repo_state (repo_full_name) VALUES ('o/r')");
    await other.end();
    const rows = await database.db.query({ text: 'SELECT repo_full_name FROM worker_repo_state' });
    expect(rows).toEqual([{ repo_full_name: 'o/r' }]);
  });

  it.each([
    { fault: 'a syntax error', text: 'SELEC 1', values: [], code: '42601' },
    { fault: 'a missing table', text: 'SELECT FROM nowhere', values: [], code: '42P01' },
    {
      fault: 'a number out of range',
      text: 'SELECT $1::int',
      values: ['99999999999'],
      code: '22003',
    },
    { fault: 'a NUL byte in a text', text: 'SELECT $1::text', values: ['a\0b'], code: '22021' },
    { fault: 'too few values', text: 'SELECT $1::int, $2::int', values: [1], code: '08P01' },
    { fault: 'several statements', text: 'SELECT 1; SELECT $1::int', values: [1], code: '42601' },
  ])('throws the database error for $fault, and keeps working', async ({ text, values, code }) => {
    await expect(database.db.query({ text }, values)).rejects.toMatchObject({ code });
    expect(await database.db.query({ text: 'SELECT 1 AS one' })).toEqual([{ one: 1 }]);
  });
});

describe.each([
  { driver: 'pg', create: createPostgres },
  { driver: 'neon', create: createNeon },
])('a statement that takes too long over $driver', ({ create }) => {
  const database = useDatabase(create);

  it('is given up with SERVICE_UNAVAILABLE', async () => {
    // It ends before the limit that statements have by default.
    const slow = { text: 'SELECT pg_sleep(5)' };
    await expect(database.db.query(slow, [], { timeoutMs: 100 })).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
    });
  });
});
