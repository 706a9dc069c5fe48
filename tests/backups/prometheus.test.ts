import { spawnSync } from 'node:child_process';
import { beforeEach, describe, expect, it } from 'vitest';
import { ruleNames } from '../../lib/alerts/rules/rule.ts';
import type { SqlValue } from '../../lib/database/database.ts';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { emptyLedger } from '../support/drills.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insert, insertResult, insertRun, sql } from '../support/records.ts';

const database = useDatabase();
const NOW = Date.parse('2026-03-10T12:00:00Z');

beforeEach(async () => {
  await empty(database.db);
  await emptyLedger(database.db);
});

const client = (environment = {}) =>
  createClient({ db: database.db, environment, clock: createTestClock(NOW) });
const scrape = async (environment = {}) => (await client(environment).get('/metrics')).text;

/** Lines of a metric without its name. */
const valuesOf = (text: string, name: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .map((line) => line.slice(name.length).trim());

/** A time of March 2026 in seconds, and as Postgres takes it. */
const at = (day: number, hour = 0) => Date.UTC(2026, 2, day, hour) / 1000;
const moment = (day: number, hour = 0) => new Date(at(day, hour) * 1000).toISOString();

const drill = (
  repository: string,
  started_at: string,
  outcome: 'proven' | 'failed' | 'incomplete',
) =>
  insert(database.db, 'restore_drills', {
    repository_name: repository,
    storage: 'folder',
    started_at,
    duration_ms: 5,
    bytes: 1,
    outcome,
    reason: outcome === 'proven' ? null : 'it is damaged',
    evidence: '{}',
  });

it.skipIf(spawnSync('promtool', ['--version']).error !== undefined)(
  'are what Prometheus recommends (skipped without promtool)',
  async () => {
    const run = await insertRun(database.db, { status: 'completed', started_at: moment(9) });
    await insertResult(database.db, run, 'acme/app', { created_at: moment(9) });
    await drill('acme/app', moment(9), 'proven');
    const check = spawnSync('promtool', ['check', 'metrics'], {
      input: await scrape(),
      encoding: 'utf8',
    });
    expect(`${check.stdout}${check.stderr}`).toBe('');
    expect(check.status).toBe(0);
  },
);

describe('the metrics of repositories', () => {
  let run: number;
  const result = (repository: string, created_at: string, row: Record<string, SqlValue> = {}) =>
    insertResult(database.db, run, repository, { created_at, ...row });

  beforeEach(async () => {
    run = await insertRun(database.db, { status: 'completed', started_at: moment(10, 9) });
    await result('acme/app', moment(10, 9), { archive_size_bytes: 1000 });
    await result('acme/web', moment(7), { archive_size_bytes: 70 });
    await result('acme/web', moment(8), { status: 'failed' });
    await result('acme/web', moment(9), { status: 'failed' });
    await result('acme/new', moment(9), { status: 'failed', archive_size_bytes: null });
    await sql(
      database.db,
      `INSERT INTO archive_versions (repo_full_name, version, created_at, pruned_at) VALUES
         ('Acme/App', 1, '2026-03-01', NULL), ('Acme/App', 2, '2026-03-02', NULL), ('Acme/App', 3, '2026-03-03', now())`,
    );
    await drill('ACME/app', moment(5), 'proven');
    await drill('ACME/app', moment(6), 'failed');
    await drill('ACME/app', moment(7), 'incomplete');
    await drill('acme/web', moment(4), 'proven');
  });

  it('show for each when it was good, its version, size, failures, state and proof', async () => {
    const text = await scrape();
    const each = (name: string) => valuesOf(text, `backup_repository_${name}`);
    expect(each('state')).toEqual([
      '{repository="acme/app",state="good"} 1',
      '{repository="acme/new",state="never"} 1',
      '{repository="acme/web",state="failing"} 1',
    ]);
    expect(each('last_good_timestamp_seconds')).toEqual([
      `{repository="acme/app"} ${at(10, 9)}`,
      `{repository="acme/web"} ${at(7)}`,
    ]);
    expect(each('last_good_age_seconds')).toEqual([
      '{repository="acme/app"} 10800',
      `{repository="acme/web"} ${NOW / 1000 - at(7)}`,
    ]);
    expect(each('last_version_timestamp_seconds')).toEqual([`{repository="acme/app"} ${at(2)}`]);
    // The size of the newest good archive: failures have none.
    expect(each('size_bytes')).toEqual([
      '{repository="acme/app"} 1000',
      '{repository="acme/new"} 0',
      '{repository="acme/web"} 70',
    ]);
    expect(each('consecutive_failures')).toEqual([
      '{repository="acme/app"} 0',
      '{repository="acme/new"} 1',
      '{repository="acme/web"} 2',
    ]);
    expect(each('last_proof_timestamp_seconds')).toEqual([
      `{repository="acme/app"} ${at(5)}`,
      `{repository="acme/web"} ${at(4)}`,
    ]);
    expect(each('last_drill')).toEqual([
      '{repository="acme/app",outcome="failed"} 1',
      '{repository="acme/new",outcome="none"} 1',
      '{repository="acme/web",outcome="proven"} 1',
    ]);
  });

  it('summarize all repositories', async () => {
    const text = await scrape();
    expect(valuesOf(text, 'backup_database_up')).toEqual(['1']);
    expect(valuesOf(text, 'backup_repositories')).toEqual([
      '{state="gone"} 0',
      '{state="never"} 1',
      '{state="lost"} 0',
      '{state="failing"} 1',
      '{state="stale"} 0',
      '{state="good"} 1',
    ]);
    expect(valuesOf(text, 'backup_repositories_by_drill')).toEqual([
      '{outcome="proven"} 1',
      '{outcome="failed"} 1',
      '{outcome="incomplete"} 0',
      '{outcome="none"} 1',
    ]);
    expect(valuesOf(text, 'backup_archives_size_bytes')).toEqual(['1070']);
    expect(valuesOf(text, 'backup_oldest_good_timestamp_seconds')).toEqual([`${at(7)}`]);
    expect(valuesOf(text, 'backup_oldest_proof_timestamp_seconds')).toEqual([`${at(4)}`]);
    expect(valuesOf(text, 'backup_freshness_limit_seconds')).toEqual(['93600']);
  });

  it('are only totals beyond METRICS_REPOSITORIES, with the number of omitted repositories', async () => {
    const within = await scrape({ METRICS_REPOSITORIES: '3' });
    expect(valuesOf(within, 'backup_repository_state')).toHaveLength(3);
    expect(valuesOf(within, 'backup_repository_series_limit')).toEqual(['3']);
    expect(valuesOf(within, 'backup_repository_series_omitted')).toEqual(['0']);
    const beyond = await scrape({ METRICS_REPOSITORIES: '2' });
    expect(beyond).not.toContain('repository="');
    expect(valuesOf(beyond, 'backup_repository_series_limit')).toEqual(['2']);
    expect(valuesOf(beyond, 'backup_repository_series_omitted')).toEqual(['3']);
    expect(valuesOf(beyond, 'backup_repositories')).toEqual(
      valuesOf(within, 'backup_repositories'),
    );
    expect(valuesOf(beyond, 'backup_oldest_proof_timestamp_seconds')).toEqual([`${at(4)}`]);
  });

  it('escape names that would break out of their label, and cut long names', async () => {
    await result('acme/"} 1\nbackup_database_up 0\\', moment(10));
    await result(`acme/${'x'.repeat(5_000)}`, moment(10));
    const text = await scrape();
    expect(text).toContain(
      'backup_repository_state{repository="acme/\\"} 1\\nbackup_database_up 0\\\\",state="good"} 1',
    );
    expect(valuesOf(text, 'backup_database_up')).toEqual(['1']);
    for (const line of text.split('\n')) expect(line.length).toBeLessThan(500);
  });
});

describe('the metrics of runs', () => {
  it('show the last run that ended, the last good one, and the next', async () => {
    await insertRun(database.db, { status: 'completed', started_at: moment(8), successful: 4 });
    await insertRun(database.db, {
      ...{ status: 'failed', started_at: moment(9), duration_ms: 61_500 },
      ...{ successful: 1, failed: 2, skipped: 3 },
    });
    await insertRun(database.db, { status: 'running', started_at: moment(10) });
    await insertRun(database.db, {
      ...{ status: 'failed', started_at: moment(10, 1), stopped_by: 'SIGTERM' },
    });
    const text = await scrape({ BACKUP_EVERY: '2d' });
    const run = (name: string) => valuesOf(text, `backup_${name}`);
    expect(run('last_run_timestamp_seconds')).toEqual([`${at(9)}`]);
    expect(run('last_run_duration_seconds')).toEqual(['61.5']);
    expect(run('last_run_outcome')).toEqual(['{outcome="completed"} 0', '{outcome="failed"} 1']);
    expect(run('last_run_repositories')).toEqual([
      '{result="successful"} 1',
      '{result="failed"} 2',
      '{result="skipped"} 3',
    ]);
    expect(run('last_good_run_timestamp_seconds')).toEqual([`${at(8)}`]);
    expect(run('run_active')).toEqual(['1']);
    expect(run('next_run_expected_timestamp_seconds')).toEqual([`${at(12)}`]);
    expect(run('run_interval_seconds')).toEqual(['172800']);
  });

  it('claim nothing before the first run', async () => {
    const text = await scrape();
    expect(valuesOf(text, 'backup_last_run_timestamp_seconds')).toEqual([]);
    expect(valuesOf(text, 'backup_last_run_outcome')).toEqual([]);
    expect(valuesOf(text, 'backup_run_active')).toEqual(['0']);
    expect(valuesOf(text, 'backup_next_run_expected_timestamp_seconds')).toEqual([]);
  });
});

describe('the metrics of incidents', () => {
  it('count open incidents by rule, and the repositories in them', async () => {
    const stale = await insert(database.db, 'incidents', { rule: 'repository_stale' });
    await insert(database.db, 'incidents', {
      ...{ rule: 'destination_unreachable', subject: 'a' },
      acknowledged_at: moment(9),
    });
    await insert(database.db, 'incidents', { rule: 'destination_unreachable', subject: 'b' });
    await insert(database.db, 'incidents', { rule: 'anomaly', resolved_at: moment(9) });
    await sql(
      database.db,
      `INSERT INTO incident_repositories (incident_id, repository_name, resolved_at)
       VALUES ($1, 'acme/a', NULL), ($1, 'acme/b', NULL), ($1, 'acme/c', now())`,
      [stale],
    );
    const text = await scrape();
    const incidents = valuesOf(text, 'backup_incidents');
    expect(incidents).toHaveLength(2 * ruleNames.length);
    for (const line of [
      '{rule="repository_stale",acknowledged="false"} 1',
      '{rule="destination_unreachable",acknowledged="true"} 1',
      '{rule="destination_unreachable",acknowledged="false"} 1',
      '{rule="anomaly",acknowledged="false"} 0',
      '{rule="run_missed",acknowledged="false"} 0',
    ]) {
      expect(incidents).toContain(line);
    }
    expect(valuesOf(text, 'backup_incident_repositories')).toContain('{rule="repository_stale"} 2');
  });
});

it('backup metrics have no values while the database is down, except backup_database_up', async () => {
  const { text, status } = await createClient().get('/metrics');
  expect(status).toBe(200);
  expect(valuesOf(text, 'backup_database_up')).toEqual(['0']);
  const others = text
    .split('\n')
    .filter((line) => /^backup_(?!database_up|repository_series_limit)/.test(line));
  expect(others).toEqual([]);
  expect(text).toContain('# TYPE backup_repository_state gauge');
});

it('backup metrics are the same as JSON', async () => {
  await insertRun(database.db, { status: 'completed', started_at: moment(8), duration_ms: 500 });
  const { body } = await client().get('/metrics?format=json');
  expect(body).toContainEqual({
    name: 'backup_last_run_duration_seconds',
    help: 'Duration of the last run that has ended.',
    type: 'gauge',
    values: [{ labels: {}, value: 0.5 }],
  });
});
