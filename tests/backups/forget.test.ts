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

describe('several repositories that were removed on purpose', () => {
  const forgetSeveral = (body: Record<string, unknown>) => client().post('/api/repos/forget', body);

  /** `acme/app` has a backup, `acme/never` has none, `acme/copied` has one in a store. */
  async function fillSeveral() {
    const { db } = database;
    const run = await insertRun(db, { status: 'completed', total_repos: 3, successful: 1 });
    await insertResult(db, run, 'acme/app');
    await fails(run, 'acme/never');
    await fails(run, 'acme/Copied');
    await sql(
      db,
      `INSERT INTO archive_stores (repo_full_name, store, stored_at)
       VALUES ('acme/Copied', 's3://backups/git', now())`,
    );
  }

  it('are looked at without being forgotten, each with what is kept of it', async () => {
    await fillSeveral();
    const asked = ['ACME/app', 'acme/never', 'acme/copied', 'acme/none'];
    expect(await forgetSeveral({ names: asked, dry_run: true })).toMatchObject({
      status: 200,
      body: {
        data: [
          { full_name: 'ACME/app', outcome: 'forgotten', is_kept: true },
          {
            ...{ full_name: 'acme/never', outcome: 'nothing_kept', is_kept: false },
            detail: 'It was never backed up: nothing is kept.',
          },
          {
            ...{ full_name: 'acme/copied', outcome: 'forgotten', is_kept: true },
            detail: expect.stringContaining('A copy is in s3://backups/git.'),
          },
          { full_name: 'acme/none', outcome: 'not_found', is_kept: false },
        ],
      },
    });
    expect(await names()).toEqual(['acme/app', 'acme/Copied', 'acme/never']);
  });

  it('are forgotten except those of which nothing is kept, until that is said of each', async () => {
    await fillSeveral();
    const all = ['acme/app', 'acme/never', 'acme/copied'];
    expect(await forgetSeveral({ names: all, nothing_kept: ['acme/other'] })).toMatchObject({
      status: 200,
      body: {
        data: [{ outcome: 'forgotten' }, { outcome: 'nothing_kept' }, { outcome: 'forgotten' }],
      },
    });
    expect(await names()).toEqual(['acme/never']);
    expect(
      await forgetSeveral({ names: ['acme/never', 'ACME/never'], nothing_kept: ['ACME/NEVER'] }),
    ).toMatchObject({ body: { data: [{ outcome: 'forgotten', is_kept: false }] } });
    expect(await names()).toEqual([]);
  });

  it('are at most 100 at once, and have names', async () => {
    const many = Array.from({ length: 101 }, (_, number) => `acme/${number}`);
    for (const names of [many, [], [''], 'acme/app', ['acme/\0']]) {
      expect((await forgetSeveral({ names })).status).toBe(400);
    }
    expect((await forgetSeveral({ names: many.slice(1) })).status).toBe(200);
    expect((await forgetSeveral({ names: ['a/b'], nothing_kept: many })).status).toBe(400);
  });
});
