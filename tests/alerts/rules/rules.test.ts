import { describe, expect, it } from 'vitest';
import { ruleNames } from '../../../lib/alerts/rules/rule.ts';
import { rules } from '../../../lib/alerts/rules/rules.ts';
import { useRules } from '../../support/alert-rules.ts';
import { ago, DAY_MS, HOUR_MS } from '../../support/incidents.ts';
import { insertResult, sql } from '../../support/records.ts';

const { database, clock, opened, run } = useRules();

it('all rules have the name under which they are listed', () => {
  expect(ruleNames.map((name) => rules[name].name)).toEqual(ruleNames);
});

it('no advice mentions a run without --source, which fails where nobody has logged in', () => {
  const advice = ruleNames.map((name) => rules[name].advice);
  expect(advice.filter((text) => text.includes('`npm run worker -- run`'))).toEqual([]);
  expect(advice.filter((text) => text.includes('start a run as you usually do'))).toHaveLength(9);
});

it('the advice about a login names the token first, because there may be nothing else', () => {
  for (const name of ['login_expired', 'login_expiring'] as const) {
    expect(rules[name].advice).toMatch(/^Replace the token .*, or log in again/);
  }
});

it('the rules about repositories say that forgetting one can end the incident', () => {
  for (const name of ['repository_stale', 'repository_failing'] as const) {
    expect(rules[name].resolved).toMatch(/^Each repository .*\bforgotten\b/);
  }
});

it('all times are shown in the same form', async () => {
  const expires = (days: number) => ago(clock, -days * DAY_MS);
  await sql(
    database.db,
    `INSERT INTO host_logins (git_host_url, expires_at) VALUES ('https://a.example', $1), ('https://b.example', $2)`,
    [expires(-1), expires(1)],
  );
  const id = await run(40);
  await insertResult(database.db, id, 'o/old', { created_at: ago(clock, 40 * HOUR_MS) });
  const summaries = (await opened({ BACKUP_EVERY: '24h' })).map(({ summary }) => summary);
  const reasons = await sql<{ reason: string }>(
    database.db,
    'SELECT reason FROM incident_repositories',
  );
  const texts = [...summaries, ...reasons.map(({ reason }) => reason)].join('\n');
  expect(texts.match(/\d{4}-\d\d-\d\d \d\d:\d\d UTC/g)).toHaveLength(4);
  expect(texts).not.toMatch(/\d\dZ|\dT\d/);
});

describe('logins', () => {
  const login = (expiresInDays: number) =>
    sql(database.db, 'INSERT INTO host_logins (git_host_url, expires_at) VALUES ($1, $2)', [
      `https://${expiresInDays}.example`,
      ago(clock, -expiresInDays * DAY_MS),
    ]);

  it('are expiring within 14 days of their end, and expired after it', async () => {
    for (const days of [-1, 13, 15]) await login(days);
    expect(await opened()).toMatchObject([
      { rule: 'login_expired', subject: 'https://-1.example' },
      { rule: 'login_expiring', subject: 'https://13.example' },
    ]);
  });

  it.each([
    [1, 0, 'they are over'],
    [8.5 * 24, 3, 'there was no run since'],
  ])('used 8 days ago, with a run %d hours ago, have %d incidents: %s', async (hoursAgo, count) => {
    for (const days of [-1, 13]) await login(days);
    await sql(
      database.db,
      "INSERT INTO host_logins (git_host_url, refused_since, reason) VALUES ('https://former.example', now(), 'no')",
    );
    await sql(database.db, 'UPDATE host_logins SET seen_at = $1', [ago(clock, 8 * DAY_MS)]);
    await run(hoursAgo);
    expect(await opened()).toHaveLength(count);
  });
});

describe('disk_filling', () => {
  const measured = (machine: string, daysAgo: number, freeGiB: number) => {
    const at = ago(clock, daysAgo * DAY_MS);
    const values = [machine, at.slice(0, 10), at, freeGiB * 2 ** 30];
    return sql(
      database.db,
      `INSERT INTO archive_disks (machine, day, host_name, measured_at, free_bytes, total_bytes)
       VALUES ($1, $2, 'nas', $3, $4::bigint, 1099511627776)`,
      values,
    );
  };

  it('is about a disk that will be full within 14 days at the growth of the last 7', async () => {
    await measured('fast', 20, 500);
    await measured('fast', 7, 170);
    await measured('fast', 0, 100);
    await measured('slow', 7, 149);
    await measured('slow', 0, 100);
    await measured('emptied', 7, 50);
    await measured('emptied', 0, 100);
    await measured('new', 0, 1);
    await measured('former', 30, 100);
    await measured('former', 25, 1);
    expect(await opened()).toEqual([
      {
        ...{ rule: 'disk_filling', subject: 'fast', repositories: [] },
        summary: 'nas has 100.0 GiB left for archives and uses 10.0 GiB a day: full in 10 days',
      },
    ]);
  });
});

describe('anomaly', () => {
  it('is about unconfirmed anomalies', async () => {
    await sql(
      database.db,
      `INSERT INTO anomalies (repo_full_name, run_id, version, kind, change_count, confirmed_at) VALUES
         ('o/a', 1, 2, 'branches_rewritten', 1, NULL), ('o/a', 1, 3, 'shrunk', 1, NULL),
         ('o/b', 1, 2, 'tags_deleted', 1, now()), (NULL, 1, NULL, 'missing', 7, NULL)`,
    );
    expect(await opened()).toMatchObject([
      { rule: 'anomaly', subject: '', repositories: ['o/a'] },
      { rule: 'anomaly', subject: 'missing', summary: expect.stringMatching(/^7 repositories/) },
    ]);
    const [listed] = await sql<{ reason: string }>(
      database.db,
      'SELECT reason FROM incident_repositories',
    );
    expect(listed?.reason).toBe(
      'branches were rewritten, it shrank to half or less (since version 2)',
    );
  });
});
