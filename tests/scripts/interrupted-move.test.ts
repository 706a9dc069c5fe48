import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { databaseUnavailable } from '../../lib/database/database.ts';
import { checkLedger } from '../../lib/drills/check-ledger.ts';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { type MoveReport, moveDatabase } from '../../scripts/move/move-database.ts';
import { createPostgres, type TestDatabase } from '../support/databases.ts';
import { someDrill } from '../support/drills.ts';
import { sql } from '../support/records.ts';

let source: TestDatabase;
let target: TestDatabase;

beforeEach(async () => {
  [source, target] = await Promise.all([createPostgres(), createPostgres()]);
  await sql(source.db, 'INSERT INTO backup_runs SELECT FROM generate_series(1, 10)');
  // Three pages.
  await sql(
    source.db,
    "INSERT INTO execution_logs (run_id, message) SELECT 1, 'line ' || n FROM generate_series(1, 4500) AS n",
  );
});
afterEach(async () => {
  await Promise.all([source.close(), target.close()]);
});

const silent: MoveReport = { note: () => undefined, copied: () => undefined };

const move = (options: Partial<Parameters<typeof moveDatabase>[0]> = {}) =>
  moveDatabase({
    source: source.db,
    target: target.db,
    startOver: false,
    report: silent,
    ...options,
  });

const countLogs = async (db: Database) =>
  (await sql<{ n: number }>(db, 'SELECT count(*)::int AS n FROM execution_logs'))[0]?.n;

/** A handle whose connection is lost permanently before the n-th matching statement. */
function losing(db: Database, pattern: RegExp, time: number): Database {
  let left = time;
  return {
    ...db,
    query(statement, values, options) {
      if (pattern.test(statement.text)) left--;
      if (left <= 0) throw databaseUnavailable(new Error('the connection was lost'));
      return db.query(statement, values, options);
    },
  };
}

describe.each([
  ['the source', /FROM "execution_logs" WHERE/, 'source'],
  ['the target', /INSERT INTO "execution_logs"/, 'target'],
] as const)('a move that loses %s', (_name, pattern, which) => {
  const lost = () => move({ [which]: losing({ source, target }[which].db, pattern, 2) });

  it('names the table at which it failed', async () => {
    await expect(lost()).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: expect.stringMatching(/^execution_logs failed after \d+ rows$/),
      cause: new Error('the connection was lost'),
    });
    expect(await countLogs(target.db)).toBeLessThan(4500);
  });

  it('continues after the last stored page, and moves nothing twice', async () => {
    await expect(lost()).rejects.toThrow();
    const arrived = Number(await countLogs(target.db));
    expect(arrived).toBeGreaterThan(0);
    const notes: string[] = [];
    const steps: number[] = [];
    const moved = await move({
      report: {
        note: (line) => notes.push(line),
        copied: (rows, total) => steps.push(total - rows),
      },
    });
    expect(notes[0]).toBe('continuing the unfinished move');
    expect(steps).toHaveLength(Math.ceil((4500 - arrived) / 2000));
    expect(steps.at(-1)).toBe(0);
    expect(moved).toContainEqual({ table: 'execution_logs', rows: 4500 });
    expect(await countLogs(target.db)).toBe(4500);
    expect(
      await sql(target.db, 'SELECT sum(log_count)::int AS n FROM execution_log_counts'),
    ).toEqual([{ n: 4500 }]);
  });

  it('starts over with --start-over', async () => {
    await expect(lost()).rejects.toThrow();
    await sql(source.db, "UPDATE execution_logs SET message = 'changed' WHERE id = 1");
    expect(await move({ startOver: true })).toContainEqual({
      table: 'execution_logs',
      rows: 4500,
    });
    expect(await sql(target.db, 'SELECT message FROM execution_logs WHERE id = 1')).toEqual([
      { message: 'changed' },
    ]);
  });

  it('keeps the ledger of restore drills chained and append-only when it starts over', async () => {
    await recordDrill(source.db, someDrill(), null);
    await recordDrill(source.db, someDrill({ repository: 'ada/other' }), null);
    await expect(lost()).rejects.toThrow();
    await move({ startOver: true });
    const { rows, head, broken } = await checkLedger(source.db);
    expect(await checkLedger(target.db)).toEqual({ rows, head, broken });
    expect({ rows, broken }).toEqual({ rows: 2, broken: null });
    for (const statement of ['TRUNCATE restore_drills', 'DELETE FROM restore_drills']) {
      await expect(sql(target.db, statement)).rejects.toThrow('append-only');
    }
    await recordDrill(target.db, someDrill({ repository: 'ada/third' }), null);
    expect(await checkLedger(target.db)).toMatchObject({ rows: 3, broken: null });
  });
});

it('a move rejects the target of an unfinished move as its source', async () => {
  const lost = losing(target.db, /INSERT INTO "execution_logs"/, 1);
  await expect(move({ target: lost })).rejects.toThrow();
  const third = await createPostgres();
  await expect(move({ source: target.db, target: third.db })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: 'the source is the target of an unfinished move',
  });
  await third.close();
});

it('one of two concurrent moves into one target reports that the other has started', async () => {
  const inTheMoment: Database = {
    ...target.db,
    async query(statement, values, options) {
      const begins = statement.text.startsWith('CREATE TABLE database_move_progress');
      if (begins) await target.db.query(statement, values, options);
      return target.db.query(statement, values, options);
    },
  };
  await expect(move({ target: inTheMoment })).rejects.toMatchObject({
    code: 'CONFLICT',
    message: 'another move into the target has just started',
  });
  expect(await move()).toContainEqual({ table: 'execution_logs', rows: 4500 });
});

it('a database cannot be moved into itself, even if it is empty', async () => {
  const same = () => move({ source: target.db });
  const refusal = {
    code: 'CONFLICT',
    message: expect.stringMatching(/^source and target are the/),
  };
  await expect(same()).rejects.toMatchObject(refusal);
  await expect(same()).rejects.toMatchObject(refusal);
  expect(await move()).toContainEqual({ table: 'execution_logs', rows: 4500 });
});

describe('a target with data', () => {
  it('is rejected', async () => {
    await sql(target.db, "INSERT INTO users VALUES ('grace', 'hash')");
    const refusal = 'the target is not empty: it has rows in users';
    await expect(move()).rejects.toMatchObject({ code: 'CONFLICT', message: refusal });
    expect(await sql(target.db, 'SELECT username FROM users')).toEqual([{ username: 'grace' }]);
    expect(await sql(target.db, 'SELECT id FROM backup_runs')).toEqual([]);
  });

  it('is not emptied by --start-over', async () => {
    await sql(target.db, "INSERT INTO users VALUES ('grace', 'hash')");
    await expect(move({ startOver: true })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: 'the target has no unfinished move',
    });
    expect(await sql(target.db, 'SELECT username FROM users')).toEqual([{ username: 'grace' }]);
  });
});

it.each([
  ['a changed row', "UPDATE backup_runs SET status = 'failed' WHERE id = 5"],
  ['a new row', 'INSERT INTO backup_runs DEFAULT VALUES'],
  ['a deleted row', 'DELETE FROM backup_runs WHERE id = 10'],
])('a move reports %s in the source meanwhile, until it starts over', async (_what, change) => {
  const report = {
    ...silent,
    copied: (_rows: number, _total: number, table: string) => {
      if (table === 'execution_logs') changed ??= sql(source.db, change);
    },
  };
  let changed: Promise<unknown> | undefined;
  await expect(
    move({ report, target: { ...target.db, query: afterChange } }),
  ).rejects.toMatchObject({
    code: 'CONFLICT',
    message:
      'source and target differ in backup_runs: something has written to them during the move',
  });
  await move({ startOver: true });

  async function afterChange<Row>(...query: Parameters<Database['query']>): Promise<Row[]> {
    await changed;
    return target.db.query<Row>(...query);
  }
});

it('a move keeps at most a page or one row in memory', async () => {
  await sql(source.db, 'DELETE FROM execution_logs');
  const big = (n: number, bytes: number) =>
    `INSERT INTO execution_logs (message) SELECT repeat('x', ${bytes}) FROM generate_series(1, ${n})`;
  await sql(source.db, big(40, 250_000));
  await sql(source.db, big(2, 5_000_000));
  const sizes: number[] = [];
  const measured: Database = {
    ...target.db,
    query(statement, values, options) {
      if (/INSERT INTO "execution_logs"/.test(statement.text))
        sizes.push(String(values?.[0]).length);
      return target.db.query(statement, values, options);
    },
  };
  const limits: number[] = [];
  const counted: Database = {
    ...source.db,
    query(statement, values, options) {
      const page = /FROM "execution_logs".*LIMIT (\d+)/.exec(statement.text);
      if (page && /string_agg/.test(statement.text)) limits.push(Number(page[1]));
      return source.db.query(statement, values, options);
    },
  };
  await move({ source: counted, target: measured });
  // The source does not read many more rows than fit into a page either.
  expect(Math.max(...limits.slice(1))).toBeLessThan(20);
  expect(await countLogs(target.db)).toBe(42);
  const [large, small] = [
    sizes.filter((it) => it > 2 ** 21 + 100),
    sizes.filter((it) => it < 2 ** 21 + 100),
  ];
  expect(large).toHaveLength(2);
  expect(Math.max(...large)).toBeLessThan(5_000_300);
  expect(small).toHaveLength(5);
});

it('a move copies tables of older writers, with their NULLs and without their extra columns', async () => {
  await sql(source.db, 'ALTER TABLE execution_logs ALTER COLUMN level DROP NOT NULL');
  await sql(source.db, 'ALTER TABLE execution_logs ADD COLUMN host text');
  await sql(source.db, "INSERT INTO execution_logs (level, host) VALUES (NULL, 'a')");
  const notes: string[] = [];
  await move({ report: { ...silent, note: (line) => notes.push(line) } });
  expect(notes).toContain('not copied from execution_logs, as they belong to other programs: host');
  expect(await sql(target.db, 'SELECT id::int FROM execution_logs WHERE level IS NULL')).toEqual([
    { id: 4501 },
  ]);
});

it('a move lists the tables that are not copied', async () => {
  await sql(source.db, 'CREATE TABLE orders (id int); CREATE TABLE "of a newer version" (id int)');
  const notes: string[] = [];
  await move({ report: { ...silent, note: (line) => notes.push(line) } });
  expect(notes).toEqual([
    expect.stringMatching(/^embeddings are not copied/),
    'not copied, as they belong to other programs: of a newer version, orders',
    'comparing',
  ]);
});
