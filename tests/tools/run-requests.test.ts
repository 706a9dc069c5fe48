import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { claimRequests } from '../../lib/records/recording/requests.ts';
import type { ToolHandles } from '../../lib/tools/index.ts';
import { openDatabaseSource, type TestSource } from '../support/backup-sources.ts';
import { connect } from '../support/databases.ts';
import { empty, insert, insertRun, sql } from '../support/records.ts';
import { answerOf, createTestHandles, faultOf } from '../support/tools.ts';

let opened: TestSource;
let handles: ToolHandles;

beforeAll(async () => {
  opened = await openDatabaseSource();
  handles = createTestHandles({ backups: opened.source });
});
afterAll(() => opened.close());
beforeEach(() => empty(opened.database.db));

const trigger = (given: object = {}) => answerOf(handles, 'trigger_backup_run', given);
const rows = () =>
  sql<{ id: number; status: string; target_repo: string | null }>(
    opened.database.db,
    'SELECT id, status, target_repo FROM backup_run_requests ORDER BY id',
  );

describe('trigger_backup_run', () => {
  it('queues a run of one repository, in lower case', async () => {
    const answer = await trigger({ target_repo: 'Owner/Repo.Name_1', reason: 'Before the move' });
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
  ])("sees another writer's request for %s, written %j", async (target_repo, written) => {
    const row = { target_repo: written, requested_by: 'dashboard' };
    const id = await insert(opened.database.db, 'backup_run_requests', row);
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
    const run = await insertRun(opened.database.db, { status: 'running' });
    await claimRequests(opened.database.db, run);
    expect(await trigger({ target_repo: 'owner/a' })).toMatchObject({
      request_id: 2,
      already_queued: false,
    });
  });

  it('leaves one pending row and one new answer after 50 calls at once', async () => {
    for (const given of [{ target_repo: 'owner/a' }, {}]) {
      await empty(opened.database.db);
      const answers = await Promise.all(Array.from({ length: 50 }, () => trigger(given)));
      expect(await rows()).toHaveLength(1);
      expect(new Set(answers.map(({ request_id }) => request_id)).size).toBe(1);
      expect(answers.filter(({ already_queued }) => !already_queued)).toHaveLength(1);
    }
  });

  it('waits for a call that has not committed yet, and returns its request', async () => {
    const other = await connect(opened.database.url);
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

  it.each([
    'owner',
    'owner/',
    '/name',
    'owner/a/b',
    'owner/..',
    './name',
    'owner/na me',
    'owner/na\nme',
    "owner/n'; DROP TABLE backup_runs",
    `owner/${'a'.repeat(101)}`,
  ])('refuses the target %j', async (target_repo) => {
    expect(await faultOf(handles, 'trigger_backup_run', { target_repo })).toBe(
      'invalid arguments: target_repo: must be owner/name',
    );
    expect(await rows()).toEqual([]);
  });

  it('takes a reason of 500 characters and refuses one more, and NUL', async () => {
    await trigger({ reason: 'x'.repeat(500) });
    expect(await faultOf(handles, 'trigger_backup_run', { reason: 'x'.repeat(501) })).toMatch(
      /reason: .*500/,
    );
    expect(await faultOf(handles, 'trigger_backup_run', { reason: 'a\0' })).toMatch(/reason: /);
  });

  it('says how to get the table where it is missing', async () => {
    const bare = await openDatabaseSource({ migrated: false });
    const handles = createTestHandles({ backups: bare.source });
    expect(await faultOf(handles, 'trigger_backup_run')).toBe(
      'the database lacks the tables of this tool: run `npm run migrate`',
    );
    await bare.close();
  });
});
