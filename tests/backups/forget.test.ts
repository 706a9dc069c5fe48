import { beforeEach, describe, expect, it } from 'vitest';
import type { SqlValue } from '../../lib/database/database.ts';
import { createClient } from '../support/client.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertResult, insertRun, sql } from '../support/records.ts';

const database = useDatabase();
beforeEach(() => empty(database.db));

const client = () => createClient({ db: database.db });
const names = async (query = '') => {
  const { body } = await client().get(`/api/repos?order=name${query}`);
  return (body as { data: { full_name: string }[] }).data.map(({ full_name }) => full_name);
};
const read = async (name: string) => (await client().get(`/api/repos/${name}`)).body;
const forget = (name: string) => client().post(`/api/repos/${name}/forget`, undefined);
const remember = (name: string) => client().send('DELETE', `/api/repos/${name}/forget`);
const fails = (run: number, name: string, row: Record<string, SqlValue> = {}) =>
  insertResult(database.db, run, name, { status: 'failed', fault: 'missing', ...row });

/** One good repository, and one that no longer exists at its source, with an incident. */
async function fill() {
  const { db } = database;
  const run = await insertRun(db, { status: 'completed', total_repos: 2, successful: 1 });
  await insertResult(db, run, 'acme/app');
  await insertResult(db, run, 'acme/Gone', { created_at: '2026-01-01T00:00:00Z' });
  await fails(run, 'acme/Gone');
  return run;
}
const openRules = async () => {
  const { body } = await client().get('/api/incidents?state=open');
  return (body as { data: { rule: string }[] }).data.map(({ rule }) => rule);
};
const sweep = () => client().post('/api/cron/sweep-stale-runs', undefined);

describe('a repository that was removed on purpose', () => {
  it('is not listed, counted or in an incident once forgotten, but can be read and restored', async () => {
    await fill();
    const badge = await client().post('/api/badges', { repository: 'acme/gone' });
    await sweep();
    expect(await openRules()).toEqual(['repository_failing']);
    expect(await forget('ACME/gone')).toMatchObject({
      status: 200,
      body: {
        ...{ full_name: 'acme/Gone', state: 'lost' },
        forgotten: { at: expect.any(String), by: expect.stringMatching(/./) },
      },
    });
    expect(await names()).toEqual(['acme/app']);
    expect(await names('&state=lost')).toEqual([]);
    expect(await names('&forgotten=true')).toEqual(['acme/Gone']);
    expect(await names('&forgotten=false')).toEqual(['acme/app']);
    expect(await names('&forgotten=true&state=lost&text=gone')).toEqual(['acme/Gone']);
    expect(await openRules()).toEqual([]);
    expect((await client().get('/api/overview')).body).toMatchObject({
      repositories: { total: 1, good: 1, lost: 0 },
      worst: [],
    });
    expect((await client().get((badge.body as { json: string }).json)).body).toMatchObject({
      message: 'unknown',
    });
    expect((await client().get('/metrics')).text).not.toContain('acme/Gone');
    expect((await client().get('/api/repos/acme/gone/history')).body).toMatchObject({
      pagination: { total_items: 2 },
    });
  });

  it('is tracked again when forgetting is undone', async () => {
    await fill();
    await forget('acme/gone');
    expect(await remember('acme/GONE')).toMatchObject({ status: 200, body: { forgotten: null } });
    expect(await names()).toEqual(['acme/app', 'acme/Gone']);
    expect(await openRules()).toEqual(['repository_failing']);
    expect((await remember('acme/gone')).status).toBe(200);
  });

  it.each(['completed', 'failed', 'empty'])(
    'is tracked again after a newer result with the status %s',
    async (status) => {
      const run = await fill();
      await forget('acme/gone');
      await insertResult(database.db, run, 'acme/Gone', { status });
      expect(await names()).toEqual(['acme/app', 'acme/Gone']);
      expect(await read('acme/gone')).toMatchObject({ forgotten: null });
      await forget('acme/gone');
      expect(await names()).toEqual(['acme/app']);
    },
  );

  it('is tracked again when a run finds it unchanged, whatever the clock of the run shows', async () => {
    await fill();
    await sql(
      database.db,
      `INSERT INTO worker_repo_state (repo_full_name, checked_at)
       VALUES ('acme/Gone', '2020-01-01T00:00:00Z')`,
    );
    await forget('acme/gone');
    expect(await names()).toEqual(['acme/app']);
    await sql(database.db, "UPDATE worker_repo_state SET checked_at = '2020-01-02T00:00:00Z'");
    expect(await names()).toEqual(['acme/app', 'acme/Gone']);
  });

  it('is forgotten in all spellings; only a newly recorded spelling is tracked again', async () => {
    const run = await fill();
    await fails(run, 'ACME/gone');
    await forget('acme/gone');
    expect(await names()).toEqual(['acme/app']);
    await insertResult(database.db, run, 'ACME/gone');
    expect(await names()).toEqual(['acme/app', 'ACME/gone']);
  });

  it('can still be named in a run request', async () => {
    await fill();
    await forget('acme/gone');
    const request = { target_repo: 'acme/gone', reason: '' };
    expect((await client().post('/api/run-requests', request)).status).toBeLessThan(300);
  });

  it('cannot be forgotten if it is unknown', async () => {
    await fill();
    expect((await forget('acme/none')).status).toBe(404);
    expect((await remember('acme/none')).status).toBe(404);
    expect((await client().get('/api/repos?forgotten=maybe')).status).toBe(400);
  });
});
