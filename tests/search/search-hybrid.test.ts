import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { createEmbedded } from '../support/databases.ts';
import { insertFix, insertLog, insertResult, insertRun, sql } from '../support/records.ts';
import { activateBuiltIn, ask, find, insertAnswer, useSearchDatabase } from '../support/search.ts';

// Vectors of the built-in model combined with full text, on a database with the vector extension.

const database = useSearchDatabase(createEmbedded);
let db: Database;
beforeAll(() => {
  db = database.db;
});

const log = (message: string, repository: string | null = null) =>
  insertLog(db, { message, repository });

describe('the generation that a search uses', () => {
  it('is the active one, and the response contains its id', async () => {
    await log('the clone timed out');
    const id = await activateBuiltIn(db);
    expect(await ask(db, 'clone')).toMatchObject({
      generation_id: id,
      model_id: 'local/hashing-384',
      degraded_reason: null,
      total: 1,
    });
  });

  it('is none while the only one is still being built, and the search is degraded to full text', async () => {
    const id = await log('the clone timed out');
    await activateBuiltIn(db);
    await sql(db, `UPDATE embedding_generations SET status = 'BUILDING'`);
    expect(await find(db, 'tmied')).toEqual([]);
    const outcome = await ask(db, 'clone');
    expect(outcome.results.map((result) => result.id)).toEqual([id]);
    expect(outcome).toMatchObject({
      generation_id: null,
      model_id: null,
      degraded_reason: 'no embedding generation is active',
    });
  });

  it('is none when vectors have no weight, which is not a degradation', async () => {
    await log('the clone timed out');
    await activateBuiltIn(db);
    expect(await find(db, 'cloen', { semanticWeight: 0 })).toEqual([]);
    expect(await ask(db, 'clone', { semanticWeight: 0 })).toMatchObject({
      total: 1,
      generation_id: null,
      degraded_reason: null,
    });
  });

  it('is none when nothing is active, and full text then counts even without weight', async () => {
    const id = await log('the clone timed out');
    expect(await find(db, 'clone', { ftsWeight: 0 })).toEqual([`execution_log ${id}`]);
  });
});

describe('a search with vectors', () => {
  it('finds misspelled words', async () => {
    await log('moved refs of the branch main');
    const id = await log('authentication failed for the remote');
    await log('wrote the archive');
    await activateBuiltIn(db);
    expect((await find(db, 'autentication fialed'))[0]).toBe(`execution_log ${id}`);
  });

  it('finds nothing that has nothing in common with the query', async () => {
    for (let n = 0; n < 30; n++) await log(`step ${n} of the backup of acme/site-${n}`);
    await activateBuiltIn(db);
    expect(await find(db, 'elephant')).toEqual([]);
  });

  it('finds nothing by mere hash collisions', async () => {
    // Each has a similarity of 0.20 and no three letters in common.
    await log('the archive volume is full', 'acme/site-47');
    await log('the archive volume is full', 'acme/site-87');
    await activateBuiltIn(db);
    expect(await find(db, 'blueberry')).toEqual([]);
    expect(await find(db, 'quantum')).toEqual([]);
  });

  it('finds a misspelled repository, which is stored beside the text', async () => {
    const id = await log('done', 'acme/site-backend');
    await log('done', 'globex/mobile-app');
    await activateBuiltIn(db);
    expect(await find(db, 'acme/site-bakend')).toEqual([`execution_log ${id}`]);
  });

  it('searches only the requested source types', async () => {
    const run = await insertRun(db);
    for (let n = 0; n < 120; n++) await log('authentication failed');
    const id = await insertResult(db, run, 'acme/site', { error_message: 'authentication failed' });
    await activateBuiltIn(db);
    const found = await find(db, 'autentication faild', { sourceTypes: ['backup_result'] });
    expect(found).toEqual([`backup_result ${id}`]);
  });

  it("leaves out other users' investigations", async () => {
    const own = await insertAnswer(db, 'ada', 'why?', 'authentication failed');
    await insertAnswer(db, 'bob', 'why?', 'authentication failed');
    await activateBuiltIn(db);
    expect(await find(db, 'autentication faild', { investigationsOf: 'ada' })).toEqual([
      `investigation ${own}`,
    ]);
  });

  it('does not find a deleted source', async () => {
    const id = await log('authentication failed');
    await activateBuiltIn(db);
    await sql(db, 'DELETE FROM execution_logs WHERE id = $1', [id]);
    expect(await find(db, 'authentication')).toEqual([]);
  });
});

describe('rank fusion', () => {
  it('adds the reciprocal ranks, each with its weight (k = 60)', async () => {
    const id = await log('authentication failed');
    await activateBuiltIn(db);
    const score = async (ftsWeight: number, semanticWeight: number) =>
      (await ask(db, 'authentication', { ftsWeight, semanticWeight })).results[0]?.score;
    expect(await score(1, 1)).toBeCloseTo(2 / 61, 10);
    expect(await score(3, 0.5)).toBeCloseTo(3.5 / 61, 10);
    expect(await score(0, 2)).toBeCloseTo(2 / 61, 10);
    expect(await score(2, 0)).toBeCloseTo(2 / 61, 10);
    expect(await find(db, 'authentication')).toEqual([`execution_log ${id}`]);
  });

  it('lets the weights decide between a full-text match and a vector match', async () => {
    const typo = await log('authenticatoin');
    const story = 'disks paths hosts mirrors branches tags archives certificates quotas limits';
    const exact = await log(`${story} authentication`);
    await activateBuiltIn(db);
    const query = 'authentication';
    const byText = await find(db, query, { ftsWeight: 10, semanticWeight: 1 });
    const byVector = await find(db, query, { ftsWeight: 0, semanticWeight: 1 });
    expect(byText[0]).toBe(`execution_log ${exact}`);
    expect(byVector[0]).toBe(`execution_log ${typo}`);
  });

  it('ranks rows with all words first, however similar other rows are', async () => {
    const story = 'disks paths hosts mirrors branches tags archives certificates quotas limits';
    const all = await log(`${story} authentication ${story} remote`);
    const most = await log('authentication');
    await activateBuiltIn(db);
    const query = 'authentication remote';
    const byVectors = await find(db, query, { ftsWeight: 0, semanticWeight: 1 });
    expect(byVectors[0]).toBe(`execution_log ${most}`);
    expect(await find(db, query, { ftsWeight: 0.001, semanticWeight: 1 })).toEqual(
      [all, most].map((id) => `execution_log ${id}`),
    );
  });

  it('returns one entry per source, however many of its chunks were found', async () => {
    const passage = 'The certificate of the mirror had expired. '.repeat(60);
    const answer = await insertAnswer(db, 'ada', 'why did the mirror fail?', passage);
    await activateBuiltIn(db);
    const [{ chunks } = { chunks: 0 }] = await sql<{ chunks: number }>(
      db,
      'SELECT count(*)::int AS chunks FROM embedding_chunks',
    );
    expect(chunks).toBeGreaterThan(1);
    expect(await find(db, 'expired certificate')).toEqual([`investigation ${answer}`]);
  });

  it('shows the matching passage of a long answer', async () => {
    const filler = 'Nothing to see in this paragraph of the answer. '.repeat(60);
    await insertAnswer(db, 'ada', 'why?', `${filler}\n\nThe zeppelin mirror had expired.`);
    await activateBuiltIn(db);
    const { results } = await ask(db, 'zeppelin mirror');
    expect(results[0]?.content).toContain('zeppelin mirror had expired');
  });

  it('puts the newest first among equals', async () => {
    const day = (n: number) => new Date(Date.UTC(2026, 0, n)).toISOString();
    const ids: number[] = [];
    for (const n of [3, 9, 6]) {
      ids.push(await insertLog(db, { message: 'authentication failed', created_at: day(n) }));
    }
    await activateBuiltIn(db);
    expect(await find(db, 'authentication')).toEqual(
      [ids[1], ids[2], ids[0]].map((id) => `execution_log ${id}`),
    );
  });

  it('returns the metadata of each kind of source', async () => {
    const run = await insertRun(db);
    const created_at = '2026-01-02T03:04:05.000006Z';
    const repository = 'acme/site';
    await insertLog(db, { run_id: run, level: 'warn', message: 'mirror', repository, created_at });
    await insertResult(db, run, repository, {
      error_message: 'mirror',
      commit_hash: 'abc',
      created_at,
    });
    await insertFix(db, [run], { title: 'mirror', description: 'more', author: 'ada', created_at });
    const { results } = await ask(db, 'mirror');
    const found = Object.fromEntries(
      results.map(({ source_type, content, metadata }) => [source_type, { content, metadata }]),
    );
    expect(found).toEqual({
      execution_log: {
        content: 'mirror',
        metadata: { repository, level: 'warn', run_id: run, created_at },
      },
      backup_result: {
        content: 'acme/site completed abc\nmirror',
        metadata: { repository, status: 'completed', run_id: run, commit_hash: 'abc', created_at },
      },
      backup_fix: {
        content: 'mirror\nmore',
        metadata: { title: 'mirror', author: 'ada', commit_hash: '', created_at },
      },
    });
  });
});
