import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { setUpSource } from '../support/backup-sources.ts';
import { connect } from '../support/connection.ts';
import { insertFix, insertResult, insertRun, sql } from '../support/records.ts';
import { answerOf, faultOf } from '../support/tools.ts';

const source = setUpSource();

const fix = { title: 'Renew the token', description: 'It had expired.', author: 'me' };

describe('record_backup_fix', () => {
  it('stores the fix and links it to the run', async () => {
    const run = await insertRun(source.db);
    const given = { ...fix, commit_hash: 'c0ffee', affected_run_id: String(run) };
    expect(await answerOf(source.deps, 'record_backup_fix', given)).toEqual({
      id: 1,
      ...fix,
      commit_hash: 'c0ffee',
      affected_run_id: run,
      created_at: expect.stringMatching(/Z$/),
      status: 'RECORDED_IN_DATABASE',
    });
    expect(await answerOf(source.deps, 'get_backup_run_details', { run_id: run })).toMatchObject({
      fixes: [{ id: 1, title: fix.title, affected_runs: [run] }],
    });
  });

  it('stores a fix without a run or a commit', async () => {
    expect(await answerOf(source.deps, 'record_backup_fix', fix)).toMatchObject({
      commit_hash: '',
      affected_run_id: null,
    });
    expect(await sql(source.db, 'SELECT title FROM backup_fixes')).toEqual([{ title: fix.title }]);
    expect(await sql(source.db, 'SELECT * FROM backup_run_fixes')).toEqual([]);
  });

  it('stores nothing for a run that does not exist', async () => {
    expect(await faultOf(source.deps, 'record_backup_fix', { ...fix, affected_run_id: 99 })).toBe(
      'backup run 99 does not exist: list_backup_runs shows which do',
    );
    expect(await sql(source.db, 'SELECT * FROM backup_fixes')).toEqual([]);
  });

  it('stores nothing if the run is deleted at the same time', async () => {
    const run = await insertRun(source.db);
    const other = await connect(source.database.url);
    await other.query('BEGIN');
    await other.query('DELETE FROM backup_runs WHERE id = $1', [run]);
    const fault = faultOf(source.deps, 'record_backup_fix', { ...fix, affected_run_id: run });
    const blocked = 'SELECT FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()';
    while ((await other.query(blocked)).rowCount === 0) await setImmediate();
    await other.query('COMMIT');
    await other.end();
    expect(await fault).toBe(`backup run ${run} does not exist: list_backup_runs shows which do`);
    expect(await sql(source.db, 'SELECT * FROM backup_fixes')).toEqual([]);
  });

  it.each([
    [{ title: ' ' }, 'title: must not be empty'],
    [{ description: 'a\0b' }, 'description: must not contain NUL'],
    [{ author: '' }, 'author: must not be empty'],
    [{ affected_run_id: 0 }, 'affected_run_id: must be an integer, 1 to 2147483647'],
    [{ titel: 'x' }, 'unknown: "titel"'],
  ])('rejects %j', async (change, message) => {
    expect(await faultOf(source.deps, 'record_backup_fix', { ...fix, ...change })).toBe(
      `invalid arguments: ${message}`,
    );
  });
});

describe('a recorded fix', () => {
  it('is a past incident of the next failure, whichever run it belongs to', async () => {
    const old = await insertRun(source.db, { started_at: '2026-03-01T00:00:00Z' });
    await insertFix(source.db, [old], { title: 't', description: 'd', created_at: '2026-03-01Z' });
    await answerOf(source.deps, 'record_backup_fix', fix);
    const run = await insertRun(source.db, { status: 'failed' });
    await insertResult(source.db, run, 'owner/a', { status: 'failed' });
    expect(await answerOf(source.deps, 'diagnose_backup_failure')).toMatchObject({
      similar_past_incidents: [
        { run_id: null, resolution: 'Renew the token: It had expired.' },
        { run_id: old, resolution: 't: d' },
      ],
    });
  });

  it('is part of the details of a run that is not the latest', async () => {
    const old = await insertRun(source.db, { started_at: '2026-03-01T00:00:00Z' });
    const id = await insertFix(source.db, [old]);
    await insertRun(source.db);
    const answer = await answerOf(source.deps, 'get_backup_run_details', { run_id: old });
    expect(answer).toMatchObject({ fixes: [{ id }] });
    expect(answer).not.toHaveProperty('note');
  });
});
