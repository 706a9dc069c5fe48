import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { recordHostLogin } from '../../lib/records/recording/host-logins.ts';
import { spoolDrill } from '../../lib/worker/record/drill-spool.ts';
import { createSpool } from '../../lib/worker/record/spool-file.ts';
import { printReport } from '../../scripts/doctor/print-report.ts';
import { useRules } from '../support/alert-rules.ts';
import { examineWith } from '../support/doctor.ts';
import { findClosedPort } from '../support/down-database.ts';
import { someDrill } from '../support/drills.ts';
import {
  ago,
  alertDeps,
  DAY_MS,
  HOUR_MS,
  raiseAfter,
  startAlertReceiver,
} from '../support/incidents.ts';
import { emptyFolder } from '../support/local-start.ts';
import { insert, sql } from '../support/records.ts';
import { runScript } from '../support/script.ts';

const { database, clock, run, opened } = useRules();

let folder: Awaited<ReturnType<typeof emptyFolder>>;
beforeEach(async () => {
  folder = await emptyFolder();
});
afterEach(() => folder.remove());

const here = () => ({
  ...{ PORT: '0', INTERNAL_SECRET: 'i'.repeat(40) },
  ...{ DATABASE_URL: database.url, DATA_DIR: folder.path },
});

const examine = (environment: Record<string, string> = {}) =>
  examineWith({ ...here(), ...environment }, { isHosted: false, clock });

const lastLine = (report: Parameters<typeof printReport>[0]) =>
  printReport(report, { about: 'here', hasColor: false }).trimEnd().split('\n').at(-1)?.trim();

/** Stores an incident as a rule would have opened it. */
const open = (rule: string, hoursAgo: number, row: Record<string, string | null> = {}) =>
  insert(database.db, 'incidents', { rule, opened_at: ago(clock, hoursAgo * HOUR_MS), ...row });

it('the doctor passes before the first run', async () => {
  const { report, of } = await examine();
  expect(report.ok).toBe(true);
  expect(of('incidents')).toMatchObject({ status: 'ok', detail: 'none open' });
  expect(of('last_run')).toMatchObject({ status: 'off', next: 'npm run worker -- run' });
  expect(of('git_host_logins').status).toBe('ok');
  expect(of('spool')).toMatchObject({
    status: 'ok',
    detail: 'nothing is waiting for the database',
  });
  expect(lastLine(report)).toBe('Everything required works.');
});

describe('open incidents', () => {
  it('fail the examination if one is critical, and say what to do', async () => {
    const token = `ghp_${'a1'.repeat(18)}`;
    await run(1, { status: 'failed', error_message: `disk\u001b[2J full\nof ${token}` });
    await opened();
    const { report, of } = await examine();
    expect(report.ok).toBe(false);
    expect(of('incidents')).toMatchObject({ status: 'failed', detail: '1 open, 1 critical' });
    expect(of('incident_1')).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(
        /^The last backup run failed, since 20\S+ \d\d:\d\d UTC: Run 1 failed: disk\[2J full of \S*$/,
      ),
      next: expect.stringContaining('`npm run worker -- run …`'),
    });
    expect(JSON.stringify(report)).not.toContain(token);
    expect(lastLine(report)).toBe('To fix: incidents (1 open, 1 critical), last_run.');
  });

  it('end the command with 1', async () => {
    await open('drill_failed', 1);
    const { code, stdout } = await runScript('doctor', {
      args: [],
      cwd: folder.path,
      env: here(),
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/✖ incidents +1 open, 1 critical\n/);
    expect(stdout).not.toContain('Everything required works.');
    expect(stdout.trimEnd()).toMatch(/\n {2}To fix: incidents \(1 open, 1 critical\)\.$/);
  });

  it('are listed with the critical ones first, at most five', async () => {
    await open('destination_unreachable', 30, { subject: 'first' });
    await open('destination_unreachable', 20, {
      subject: 'second',
      acknowledged_at: ago(clock, 0),
    });
    for (let age = 9; age > 0; age--) await open('disk_filling', age, { subject: `${age}` });
    await open('drill_failed', 40, { resolved_at: ago(clock, 0) });
    await open('of_another_release', 0, { summary: 'odd' });
    const { report, of } = await examine();
    expect(of('incidents').detail).toBe('12 open, 2 critical');
    const names = report.checks.map(({ name }) => name);
    expect(names.filter((name) => name.startsWith('incident_'))).toEqual([
      ...['incident_2', 'incident_1', 'incident_13', 'incident_11', 'incident_10'],
    ]);
    expect(of('incident_2').detail).toContain('(acknowledged)');
    expect(of('incident_13')).toMatchObject({
      status: 'warning',
      detail: expect.stringMatching(/^of_another_release, since .*: odd$/),
      next: expect.any(String),
    });
  });

  it('are a warning if none is critical', async () => {
    await open('disk_filling', 1);
    const { report, of } = await examine();
    expect(report.ok).toBe(true);
    expect(of('incidents')).toMatchObject({ status: 'warning', detail: '1 open, none critical' });
  });

  it('fail the examination if they cannot be read', async () => {
    await sql(database.db, 'ALTER TABLE incidents RENAME TO hidden');
    const { report, of } = await examine();
    await sql(database.db, 'ALTER TABLE hidden RENAME TO incidents');
    expect(report.ok).toBe(false);
    expect(of('incidents')).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/^cannot be read: /),
    });
    expect(of('database').status).toBe('ok');
  });
});

describe('the last run', () => {
  it('is shown with its end and when the next one is due', async () => {
    await run(2, { completed_at: ago(clock, HOUR_MS), failed: 2 });
    const { of } = await examine({ BACKUP_EVERY: '24h' });
    expect(of('last_run')).toMatchObject({
      status: 'warning',
      detail: expect.stringMatching(
        /^run 1 ended \S+ \S+ UTC, but 2 repositories failed; the next one is expected \S+ \S+ UTC$/,
      ),
    });
  });

  it('is the last one that was not stopped, shown with the one under way', async () => {
    await run(3);
    await run(2, { status: 'failed', stopped_by: 'SIGINT' });
    await run(1, { status: 'running', heartbeat_at: ago(clock, 0) });
    expect((await examine()).of('last_run')).toMatchObject({
      status: 'ok',
      detail: expect.stringMatching(
        /^run 1 ended .* UTC without failures; run 3 has been under way since .* UTC$/,
      ),
    });
  });

  it('fails the examination if no run followed in time, even if nothing evaluates the rules', async () => {
    await run(30);
    const { report, of } = await examine({ BACKUP_EVERY: '24h' });
    expect(of('incidents').status).toBe('ok');
    expect(report.ok).toBe(false);
    expect(of('last_run')).toMatchObject({
      status: 'failed',
      detail: expect.stringMatching(/^run 1 ended .*; Runs start every 24 h, but run 1 of /),
      next: expect.stringContaining('cron'),
    });
  });
});

describe('the login of the git host', () => {
  const seen = (expiresAt: string | null, refused: string | null) =>
    recordHostLogin(
      database.db,
      { gitHostUrl: 'https://git.example.com', expiresAt, refused },
      clock.now(),
    );

  it('fails the examination if it was refused', async () => {
    await seen(null, 'the git host refused\u0007 the token');
    const { report, of } = await examine();
    expect(report.ok).toBe(false);
    expect(of('git_host_logins')).toMatchObject({
      status: 'failed',
      detail: 'https://git.example.com: the git host refused the token',
      next: expect.stringContaining('`npm run worker -- login github`'),
    });
  });

  it('is a warning if it expires soon', async () => {
    await seen(ago(clock, -3 * DAY_MS), null);
    expect((await examine()).of('git_host_logins')).toMatchObject({
      status: 'warning',
      detail: expect.stringMatching(/^https:\/\/git\.example\.com: The login for .* expires 20/),
    });
  });
});

it('the doctor names a channel whose last message did not arrive, until one does', async () => {
  const receiver = await startAlertReceiver();
  const channels = [receiver.address('phone')];
  const examineChannels = async () =>
    (await examine({ ALERT_CHANNELS: channels.join(' ') })).of('alert_channels');
  const deps = await alertDeps(database.db, channels, { clock });
  receiver.answers.push({ status: 403, body: {} });
  await run(1, { status: 'failed', error_message: 'it broke' });
  await raiseAfter(deps, 0);
  expect(await examineChannels()).toMatchObject({
    status: 'warning',
    detail: expect.stringMatching(
      /^phone: the message from \S+ \S+ UTC about incident 1 did not arrive: .*403/,
    ),
    next: '`npm run alerts -- test` tests them',
  });
  await raiseAfter(deps, 25 * HOUR_MS);
  expect(receiver.titles().at(-1)).toBe('Still: The last backup run failed');
  expect(await examineChannels()).toMatchObject({ status: 'ok', detail: '1 channel' });
  await receiver.close();
});

describe('DATA_DIR/spool', () => {
  const spoolRun = async () => {
    const spool = await createSpool({
      ...{ dataFolder: folder.path, clock, run: null, began: clock.now() },
    });
    await spool.close();
  };

  it('is reported with the command that delivers it, even while the database is unreachable', async () => {
    await spoolRun();
    await spoolRun();
    await spoolDrill(folder.path, someDrill(), null);
    const detail = /^not in the database yet: 2 files of runs and 1 file of a drill, since 20/;
    const away = `postgres://nobody@127.0.0.1:${await findClosedPort()}/none`;
    for (const DATABASE_URL of [database.url, away]) {
      expect((await examine({ DATABASE_URL })).of('spool')).toMatchObject({
        status: 'warning',
        detail: expect.stringMatching(detail),
        next: expect.stringMatching(/^`npm run worker -- run` with this DATA_DIR delivers them/),
      });
    }
  });

  it('can be delivered by a drill if it contains only drills', async () => {
    await spoolDrill(folder.path, someDrill(), null);
    const { next } = (await examine()).of('spool');
    expect(next).toMatch(/^`npm run worker -- drill`/);
  });
});
