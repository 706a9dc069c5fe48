import { setImmediate } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { claimRequests } from '../../lib/records/recording/requests.ts';
import { openDatabaseSource, setUpSource } from '../support/backup-sources.ts';
import { connect } from '../support/connection.ts';
import { empty, insert, insertResult, insertRun, sql } from '../support/records.ts';
import { answerOf, createTestToolDeps, faultOf } from '../support/tools.ts';

const source = setUpSource();
beforeEach(async () => {
  await track('Owner/Repo.Name_1', 'owner/a');
});

async function track(...names: string[]) {
  const run = await insertRun(source.db);
  for (const name of names) await insertResult(source.db, run, name);
}

const trigger = (given: object = {}) => answerOf(source.deps, 'trigger_backup_run', given);
const rows = () =>
  sql<{ id: number; status: string; target_repo: string | null }>(
    source.db,
    'SELECT id, status, target_repo FROM backup_run_requests ORDER BY id',
  );

describe('trigger_backup_run', () => {
  it('queues a run of one repository, in lower case', async () => {
    const answer = await trigger({ target_repo: 'OWNER/Repo.name_1', reason: 'Before the move' });
    expect(answer).toEqual({
      request_id: 1,
      status: 'pending',
      target_repo: 'owner/repo.name_1',
      requested_by: 'mcp',
      reason: 'Before the move',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      already_queued: false,
      message: expect.stringContaining('at its next scheduled run'),
    });
    expect(await rows()).toEqual([{ id: 1, status: 'pending', target_repo: 'owner/repo.name_1' }]);
  });

  it('queues a run of all repositories when no target is given', async () => {
    expect(await trigger()).toMatchObject({ target_repo: null, reason: '' });
    expect(await rows()).toEqual([{ id: 1, status: 'pending', target_repo: null }]);
  });

  it('returns the pending request for the same target, with its own reason', async () => {
    await trigger({ target_repo: 'owner/a', reason: 'first' });
    expect(await trigger({ target_repo: 'OWNER/A', reason: 'second' })).toMatchObject({
      request_id: 1,
      reason: 'first',
      already_queued: true,
    });
    expect(await trigger()).toMatchObject({ already_queued: false });
    expect(await trigger()).toMatchObject({ already_queued: true, target_repo: null });
    expect(await rows()).toHaveLength(2);
  });

  it.each([
    ['owner/a', 'Owner/A'],
    [undefined, null],
    [undefined, ''],
  ])("finds another program's request for %s, written as %j", async (target_repo, written) => {
    const row = { target_repo: written, requested_by: 'dashboard' };
    const id = await insert(source.db, 'backup_run_requests', row);
    expect(await trigger({ target_repo })).toMatchObject({
      request_id: id,
      target_repo: written || null,
      requested_by: 'dashboard',
      already_queued: true,
    });
    expect(await rows()).toHaveLength(1);
  });

  it('queues again once the worker has claimed the request', async () => {
    await trigger({ target_repo: 'owner/a' });
    const run = await insertRun(source.db, { status: 'running' });
    await claimRequests(source.db, run, [1]);
    expect(await trigger({ target_repo: 'owner/a' })).toMatchObject({
      request_id: 2,
      already_queued: false,
    });
  });

  it('leaves one pending row and one new answer after 50 simultaneous calls', async () => {
    for (const given of [{ target_repo: 'owner/a' }, {}]) {
      await sql(source.db, 'TRUNCATE backup_run_requests');
      const answers = await Promise.all(Array.from({ length: 50 }, () => trigger(given)));
      expect(await rows()).toHaveLength(1);
      expect(new Set(answers.map(({ request_id }) => request_id)).size).toBe(1);
      expect(answers.filter(({ already_queued }) => !already_queued)).toHaveLength(1);
    }
  });

  it('waits for an uncommitted call and returns its request', async () => {
    const other = await connect(source.database.url);
    await other.query('BEGIN');
    await other.query(
      `INSERT INTO backup_run_requests (target_repo, queue_key) VALUES ('owner/a', 'owner/a')`,
    );
    const answer = trigger({ target_repo: 'owner/a' });
    const blocked = 'SELECT FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()';
    while ((await other.query(blocked)).rowCount === 0) await setImmediate();
    await other.query('COMMIT');
    await other.end();
    expect(await answer).toMatchObject({ already_queued: true });
    expect(await rows()).toHaveLength(1);
  });

  it.each(['local/Odd Näme.git-ish (1)', 'local/ÖL', 'host:8443/a b/c', '日本/語'])(
    'accepts the tracked name %j, whatever it contains',
    async (name) => {
      await track(name);
      expect(await trigger({ target_repo: name })).toMatchObject({
        target_repo: name.toLowerCase(),
        already_queued: false,
      });
      expect(await trigger({ target_repo: name })).toMatchObject({ already_queued: true });
    },
  );

  it.each([
    ['owner/b', 'no repository "owner/b" is tracked; did you mean owner/a? list_'],
    ['a', 'no repository "a" is tracked; did you mean owner/a? list_'],
    ['repo.name_1', '; did you mean Owner/Repo.Name_1? list_'],
    ['qqqqqqqqqqq/zzzzzzzzzz', '"qqqqqqqqqqq/zzzzzzzzzz" is tracked; list_tracked_repositories'],
    ['owner/..', 'no repository "owner/.." is tracked'],
    ["owner/n'; DROP TABLE backup_runs", 'is tracked; list_tracked_repositories'],
    ['', 'target_repo: must not be empty'],
  ])('rejects the target %j', async (target_repo, message) => {
    expect(await faultOf(source.deps, 'trigger_backup_run', { target_repo })).toContain(message);
    expect(await rows()).toEqual([]);
  });

  it("rejects a target that is not tracked, even if another program's request for it is pending", async () => {
    await insert(source.db, 'backup_run_requests', { target_repo: 'owner/gone' });
    expect(await faultOf(source.deps, 'trigger_backup_run', { target_repo: 'owner/gone' })).toMatch(
      /^no repository "owner\/gone" is tracked/,
    );
  });

  it('says what to do if nothing is tracked, and still queues a run of all repositories', async () => {
    await empty(source.db);
    expect(await faultOf(source.deps, 'trigger_backup_run', { target_repo: 'owner/a' })).toBe(
      'no repository is tracked yet: back one up first with `npm run worker -- run`, or leave target_repo out',
    );
    expect(await trigger()).toMatchObject({ target_repo: null, already_queued: false });
  });

  it('accepts a reason of 500 characters, and rejects a longer one and NUL', async () => {
    await trigger({ reason: 'x'.repeat(500) });
    expect(await faultOf(source.deps, 'trigger_backup_run', { reason: 'x'.repeat(501) })).toMatch(
      /reason: .*500/,
    );
    expect(await faultOf(source.deps, 'trigger_backup_run', { reason: 'a\0' })).toMatch(/reason: /);
  });

  it('says how to create a missing table', async () => {
    const bare = await openDatabaseSource({ migrated: false });
    const deps = createTestToolDeps({ backups: bare.source });
    expect(await faultOf(deps, 'trigger_backup_run')).toBe(
      'the database lacks the tables of this tool: run `npm run migrate`',
    );
    await bare.close();
  });
});
