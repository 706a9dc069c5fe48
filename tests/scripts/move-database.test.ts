import { getTableName, is } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import * as schema from '../../drizzle/schema.ts';
import type { Database } from '../../lib/database/database.ts';
import { openDatabase } from '../../lib/database/open.ts';
import { createGatewayCredentials } from '../../lib/gateway/credentials.ts';
import { buildMissingIndexes } from '../../lib/search/missing-vector-indexes.ts';
import { moveDatabase } from '../../scripts/move/move-database.ts';
import { movedTables, passingTables, summaryTables } from '../../scripts/move/tables.ts';
import { connect } from '../support/connection.ts';
import {
  createEmbedded,
  createNeon,
  createPostgres,
  silentLog,
  type TestDatabase,
} from '../support/databases.ts';
import { createTestDeps } from '../support/deps.ts';
import { ADAS_GATEWAY_KEY, fillDatabase, GRACE, readAnswers } from '../support/filled-database.ts';
import {
  ADA,
  createObservatoryClient,
  observatoryEnvironment,
} from '../support/observatory-client.ts';
import { insertLog, insertRun, sql } from '../support/records.ts';
import { findWrongFigures } from '../support/summaries.ts';

const names = movedTables.map(({ name }) => name);

let source: TestDatabase;
const opened: TestDatabase[] = [];

beforeAll(async () => {
  source = await createEmbedded();
  await fillDatabase(source.db);
});
afterAll(() => source.close());
afterEach(async () => {
  for (const database of opened.splice(0)) await database.close();
});

async function open(create: () => Promise<TestDatabase>): Promise<TestDatabase> {
  const database = await create();
  opened.push(database);
  return database;
}

/** Runs a move, and returns its messages and the number of rows of each table. */
async function move(target: Database, options: { from?: Database; startOver?: boolean } = {}) {
  const notes: string[] = [];
  const report = { note: (line: string) => notes.push(line), copied: () => undefined };
  const { from = source.db, startOver = false } = options;
  const moved = await moveDatabase({ source: from, target, startOver, report });
  return { notes, moved: Object.fromEntries(moved.map(({ table, rows }) => [table, rows])) };
}

/** Every row of a table as text. */
async function readRows(url: string, table: string): Promise<string[]> {
  const client = await connect(url);
  await client.query("SET TimeZone = 'UTC'");
  const { rows } = await client.query<{ row: string }>(
    `SELECT "${table}"::text AS row FROM "${table}" ORDER BY 1`,
  );
  await client.end();
  return rows.map(({ row }) => row);
}

it('every table is moved, is a summary computed by the target, or matters only during a run', () => {
  const all = Object.values(schema)
    .filter((it) => is(it, PgTable))
    .map(getTableName);
  expect([...names, ...summaryTables, ...passingTables].toSorted()).toEqual(all.toSorted());
});

describe('a move from the embedded database to one with vectors, over its port', () => {
  let target: TestDatabase;
  let overPort: Database;
  let moved: Record<string, number>;

  beforeAll(async () => {
    target = await createEmbedded();
    overPort = await openDatabase({ url: target.url, fetch, log: silentLog });
    ({ moved } = await move(overPort));
  });
  afterAll(async () => {
    await overPort.close();
    await target.close();
  });

  it.each(names.filter((name) => name !== 'embedding_watermarks'))(
    'copies every row of %s unchanged',
    async (table) => {
      const rows = await readRows(source.url, table);
      expect(rows).not.toEqual([]);
      expect(await readRows(target.url, table)).toEqual(rows);
      expect(moved[table]).toBe(rows.length);
    },
  );

  it('resumes the search for new embeddings at the settled ids', async () => {
    const marks = await sql(
      overPort,
      `SELECT source_type, settled_id::text AS settled, (seen_id = settled_id AND seen_before = 0) AS again
       FROM embedding_watermarks ORDER BY 1`,
    );
    expect(marks).toEqual([
      { source_type: 'backup_result', settled: '200', again: true },
      { source_type: 'execution_log', settled: '290', again: true },
      { source_type: 'investigation', settled: '12', again: true },
    ]);
  });

  it('leaves the results of all queries unchanged', async () => {
    expect(await readAnswers(overPort)).toEqual(await readAnswers(source.db));
  });

  it('keeps passwords, and gateway keys under the same encryption key', async () => {
    const observatory = createObservatoryClient({ db: overPort });
    expect((await observatory.login(GRACE.username, GRACE.password)).status).toBe(200);
    const keys = await createGatewayCredentials(
      createTestDeps({ db: overPort, environment: observatoryEnvironment }),
    ).resolveKeys(ADA.username);
    expect(await keys.use(async (key) => key)).toBe(ADAS_GATEWAY_KEY);
  });

  it('counts nothing twice in summaries', async () => {
    const client = await connect(target.url);
    expect(await findWrongFigures(client)).toEqual([]);
    await client.end();
  });

  it('builds the index of the vectors anew, once', async () => {
    expect(await buildMissingIndexes(overPort)).toBe(1);
    expect(await buildMissingIndexes(overPort)).toBe(0);
  });

  it('allows searches with the same vectors', async () => {
    const search = async (db: Database) =>
      (await createObservatoryClient({ db }).post('/search', { query: 'clonign number 77' })).body
        .data;
    const found = await search(overPort);
    expect(found).toMatchObject({ generation_id: 1, degraded: false });
    expect(found.results.length).toBeGreaterThan(0);
    expect(found).toEqual(await search(source.db));
  });

  it('never reuses an id, not even that of a deleted row', async () => {
    expect(await insertRun(overPort)).toBe(501);
    expect(await insertLog(overPort)).toBe(301);
    await sql(
      overPort,
      "INSERT INTO chat_messages (username, role, content, request_id) VALUES ('ada', 'user', '', '')",
    );
  });

  it('leaves no progress table behind, and cannot be repeated', async () => {
    expect(await sql(overPort, "SELECT to_regclass('database_move_progress') AS left")).toEqual([
      { left: null },
    ]);
    await expect(move(overPort)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/^the target is not empty: it has rows in backup_runs, /),
    });
  });
});

describe.each([
  ['a Postgres', createPostgres],
  ['Neon over HTTP', createNeon],
])('a move to %s without vectors', (_name, create) => {
  it('copies everything except the embeddings, and says so', async () => {
    const target = await open(create);
    const { notes, moved } = await move(target.db);
    expect(notes).toContainEqual(
      expect.stringMatching(/^embeddings are not copied.*not installed/),
    );
    expect(Object.keys(moved)).toEqual(names.filter((name) => !name.startsWith('embedding_')));
    expect(await sql(target.db, 'SELECT count(*)::int AS n FROM embedding_generations')).toEqual([
      { n: 0 },
    ]);
    expect(await readAnswers(target.db)).toEqual(await readAnswers(source.db));
    expect(await insertRun(target.db)).toBe(501);
  });
});
