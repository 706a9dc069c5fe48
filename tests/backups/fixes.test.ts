import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Client, createClient } from '../support/client.ts';
import { useDatabase } from '../support/hooks.ts';
import { ADA, observatoryEnvironment, signToken } from '../support/observatory-client.ts';
import { empty, insertFix, insertRun } from '../support/records.ts';

const database = useDatabase();
let client: Client;

beforeAll(async () => {
  client = createClient({ db: database.db, environment: observatoryEnvironment });
});
beforeEach(() => empty(database.db));

const asAda = async () => ({
  Authorization: `Bearer ${await signToken(client.deps, ADA.username)}`,
});
const listed = async (query = '') => {
  const { body } = await client.get(`/api/fixes${query}`);
  return body as { data: Record<string, unknown>[]; pagination: { total_items: number } };
};

describe('GET /api/fixes', () => {
  it('returns every field, newest first', async () => {
    const run = await insertRun(database.db);
    const older = { title: 'older', created_at: '2026-03-01T00:00:00Z' };
    await insertFix(database.db, [], older);
    const full = {
      title: 'Renewed the token',
      description: 'It had expired.',
      commit_hash: 'abc',
      author: 'grace',
      created_at: '2026-03-02T00:00:00.000001Z',
    };
    const id = await insertFix(database.db, [run], full);
    const { data, pagination } = await listed();
    expect(data).toMatchObject([
      { id, ...full, affected_runs: [run] },
      { title: 'older', commit_hash: '', author: '', affected_runs: [] },
    ]);
    expect(pagination.total_items).toBe(2);
    expect((await listed('?page=2&limit=1')).data).toMatchObject([{ title: 'older' }]);
  });

  it('returns the fixes of one run, and counts only those', async () => {
    const [first, second] = [await insertRun(database.db), await insertRun(database.db)];
    await insertFix(database.db, [first], { title: 'first' });
    await insertFix(database.db, [first, second], { title: 'both' });
    expect(await listed(`?run_id=${second}`)).toMatchObject({
      data: [{ title: 'both', affected_runs: [second, first] }],
      pagination: { total_items: 1 },
    });
    expect((await listed('?run_id=999')).data).toEqual([]);
  });

  it('cuts long texts stored by another program', async () => {
    const runs: number[] = [];
    for (let count = 0; count < 51; count++) runs.push(await insertRun(database.db));
    const row = { title: 't'.repeat(501), description: 'd'.repeat(20_000) };
    await insertFix(database.db, runs, row);
    const [fix] = (await listed()).data;
    expect(fix?.affected_runs).toEqual(runs.slice(1).reverse());
    expect(String(fix?.title)).toMatch(/… \[cut: \d+ more characters\]$/);
    expect(String(fix?.title).length).toBeLessThanOrEqual(500);
    expect(String(fix?.description)).toMatch(/… \[cut: \d+ more characters\]$/);
    expect(String(fix?.description).length).toBeLessThanOrEqual(10_000);
  });
});

describe('POST /api/fixes', () => {
  it('records a fix in the name of the user', async () => {
    const run = await insertRun(database.db);
    const answer = await client.post(
      '/api/fixes',
      { title: ' Renewed the token ', description: 'It had expired.', affected_run_id: run },
      await asAda(),
    );
    expect(answer.status).toBe(201);
    expect(answer.body).toMatchObject({
      title: 'Renewed the token',
      description: 'It had expired.',
      commit_hash: '',
      author: 'ada',
      affected_runs: [run],
    });
    expect((await listed()).data).toEqual([answer.body]);
  });

  it('accepts from a program another author and a commit, without a run', async () => {
    const fix = { title: 'a', description: 'b', author: 'grace', commit_hash: 'abc' };
    const { status, body } = await client.post('/api/fixes', fix);
    expect([status, body]).toEqual([201, expect.objectContaining({ ...fix, affected_runs: [] })]);
  });

  it('does not let a user name another author', async () => {
    const fix = { title: 'a', description: 'b', author: 'grace' };
    const { body } = await client.post('/api/fixes', fix, await asAda());
    expect(body).toMatchObject({ author: 'ada' });
  });

  it('names api as the author with the internal secret', async () => {
    const { body } = await client.post('/api/fixes', { title: 'a', description: 'b' });
    expect(body).toMatchObject({ author: 'api' });
  });

  it.each([1, 999, Number.MAX_SAFE_INTEGER])(
    'records nothing for run %i, which does not exist',
    async (affected_run_id) => {
      const fix = { title: 'a', description: 'b', affected_run_id };
      const { status, body } = await client.post('/api/fixes', fix);
      expect([status, body]).toEqual([
        404,
        { error: 'backup run not found', request_id: expect.any(String) },
      ]);
      expect((await listed()).data).toEqual([]);
    },
  );

  it.each([
    [{ title: '', description: 'b' }, 'title'],
    [{ title: '  ', description: 'b' }, 'title'],
    [{ title: 't'.repeat(201), description: 'b' }, 'title'],
    [{ title: 'a' }, 'description'],
    [{ title: 'a', description: 'd'.repeat(10_001) }, 'description'],
    [{ title: 'a', description: 'b', commit_hash: 'c'.repeat(101) }, 'commit_hash'],
    [{ title: 'a', description: 'b', affected_run_id: 0 }, 'affected_run_id'],
    [{ title: 'a', description: 'b', affected_run_id: '1' }, 'affected_run_id'],
  ])('rejects %j', async (fix, field) => {
    const { status, text } = await client.post('/api/fixes', fix);
    expect(status).toBe(400);
    expect(text).toContain(field);
    expect((await listed()).data).toEqual([]);
  });
});
