import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, createNeon, createPostgres, type TestDatabase } from '../../support/databases.ts';

describe.each([
  { driver: 'pg', create: createPostgres },
  { driver: 'neon', create: createNeon },
])('the database over $driver', ({ driver, create }) => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await create();
  });
  afterAll(() => database.close());

  it('says which driver it is', () => {
    expect(database.db.driver).toBe(driver);
  });

  it('answers rows as objects', async () => {
    const rows = await database.db.query({ text: 'SELECT $1::int AS a, $2::text AS b' }, [1, 'x']);
    expect(rows).toEqual([{ a: 1, b: 'x' }]);
  });

  it('reads what another connection committed', async () => {
    const other = await connect(database.url);
    await other.query("INSERT INTO users (username, password_hash) VALUES ('ada', 'h')");
    await other.end();
    const rows = await database.db.query({ text: 'SELECT username FROM users' });
    expect(rows).toEqual([{ username: 'ada' }]);
  });
});
