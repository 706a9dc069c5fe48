import { beforeAll, describe, expect, it } from 'vitest';
import { createDatabaseSource } from '../../lib/tools/database-source.ts';
import type { ToolDeps } from '../../lib/tools/tool.ts';
import { createTestClock } from '../support/clock.ts';
import { everyDatabase, silentLog } from '../support/databases.ts';
import { useDatabase } from '../support/hooks.ts';
import { insertLog, insertResult, insertRun } from '../support/records.ts';
import { answerOf, createTestToolDeps, faultOf } from '../support/tools.ts';

// The tools' statements over each driver, because drivers differ in types and databases in behaviour.

const config = { FRESHNESS_HOURS: 26 };

describe.each(everyDatabase)('the tools over %s', (_name, create) => {
  const database = useDatabase(create);
  let deps: ToolDeps;
  let run: number;

  beforeAll(async () => {
    const clock = createTestClock();
    const { db } = database;
    deps = createTestToolDeps({
      backups: createDatabaseSource({ db, clock, log: silentLog, config }),
    });
    run = await insertRun(db, {
      status: 'failed',
      started_at: '2026-03-04T00:00:00Z',
      total_repos: 4,
      failed: 1,
      duration_ms: 7,
    });
    const HUGE = '9007199254740991';
    await insertResult(db, run, 'owner/a', { archive_size_bytes: HUGE, commit_hash: 'c0ffee' });
    await insertResult(db, run, 'owner/a', { status: 'failed', error_message: 'no' });
    await insertLog(db, { run_id: run, level: 'ERROR', repository: 'Owner/A', message: 'why' });
  });

  it.each([
    ['get_dashboard_summary', {}, { success_rate: '75.00%', total_size_bytes: 9007199254740991 }],
    [
      'get_backup_metrics',
      {},
      { aggregated_success_rate: 0.75, history: [{ avg_duration_ms: 7 }] },
    ],
    ['list_tracked_repositories', {}, { data: [{ full_name: 'owner/a', last_status: 'failed' }] }],
    ['list_backup_runs', { status: 'failed' }, { pagination: { total_items: 1 } }],
    ['get_backup_run_details', { run_id: 1 }, { run: { id: 1 }, results: [{}, {}], fixes: [] }],
    ['get_execution_logs', {}, { returned: 1 }],
    ['get_execution_logs', { repository: 'owner/a' }, { returned: 1 }],
    ['get_execution_logs', { run_id: 1, repository: 'owner/a', level: 'error' }, { returned: 1 }],
    [
      'diagnose_backup_failure',
      {},
      { failures: [{ error_logs: ['why'], last_successful_commit: 'c0ffee' }] },
    ],
  ])('answer %s %j', async (name, given, answer) => {
    expect(await answerOf(deps, name, given)).toMatchObject(answer);
  });

  it('queue a run once', async () => {
    const given = { target_repo: 'owner/a' };
    expect(await answerOf(deps, 'trigger_backup_run', given)).toMatchObject({
      already_queued: false,
    });
    expect(await answerOf(deps, 'trigger_backup_run', given)).toMatchObject({
      already_queued: true,
    });
  });

  it('store and link a fix, or reject it', async () => {
    const fix = { title: 't', description: 'd', author: 'a' };
    const given = { ...fix, affected_run_id: run };
    expect(await answerOf(deps, 'record_backup_fix', given)).toMatchObject({
      affected_run_id: run,
    });
    expect(await faultOf(deps, 'record_backup_fix', { ...fix, affected_run_id: 99 })).toContain(
      'does not exist',
    );
    expect(await answerOf(deps, 'diagnose_backup_failure')).toMatchObject({
      similar_past_incidents: [{ run_id: run, resolution: 't: d' }],
    });
  });

  it('read the record of an archive and the health of the database', async () => {
    const { signal } = new AbortController();
    expect(await deps.backups.findArchive('owner/a', signal)).toBeNull();
    expect(await deps.backups.checkDatabase(signal)).toMatchObject({ status: 'connected' });
  });
});

it('a missing table is recognized over every driver', async () => {
  for (const [, create] of everyDatabase) {
    const { db, close } = await create({ migrated: false });
    const clock = createTestClock();
    const backups = createDatabaseSource({ db, clock, log: silentLog, config });
    expect(await faultOf(createTestToolDeps({ backups }), 'list_backup_runs')).toContain(
      'npm run migrate',
    );
    await close();
  }
});
