import { beforeEach, describe, expect, it } from 'vitest';
import { ruleNames } from '../../lib/alerts/rules/rule.ts';
import { rules } from '../../lib/alerts/rules/rules.ts';
import type { SqlValue } from '../../lib/database/database.ts';
import { createClient } from '../support/client.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insert, sql } from '../support/records.ts';

const database = useDatabase();
beforeEach(() => empty(database.db));

const client = () => createClient({ db: database.db });
const read = async (query = '') =>
  (await client().get(`/api/incidents${query}`)).body as { data: Record<string, unknown>[] };
const idsOf = async (query: string) => (await read(query)).data.map(({ id }) => id);
const add = (day: number, row: Record<string, SqlValue> = {}) =>
  insert(database.db, 'incidents', {
    ...{ rule: 'repository_failing', subject: `${day}`, opened_at: `2026-03-0${day}T00:00:00Z` },
    ...row,
  });
const concern = (incident: number, name: string, resolved: string | null = null) =>
  sql(
    database.db,
    `INSERT INTO incident_repositories (incident_id, repository_name, reason, since, resolved_at)
     VALUES ($1, $2, 'it broke', '2026-03-01T00:00:00Z', $3)`,
    [incident, name, resolved],
  );

const RESOLVED = { resolved_at: '2026-03-09T00:00:00Z' };
const ACKNOWLEDGED = { acknowledged_at: '2026-03-08T00:00:00Z', acknowledged_by: 'ada' };

describe('GET /api/incidents', () => {
  it('lists incidents newest first, each with its repositories and messages', async () => {
    await add(1, RESOLVED);
    await add(2, {
      subject: '',
      summary: '2 repositories cannot be backed up',
      details: '{"a": 1}',
    });
    for (const name of ['o/b', 'o/a']) await concern(2, name);
    await concern(2, 'o/mended', '2026-03-03T00:00:00Z');
    for (const [channel, delivered_at, last_error] of [
      ['phone', '2026-03-02T00:00:01Z', null],
      ['mail', null, 'the mail service answered 500'],
    ]) {
      await insert(database.db, 'alert_deliveries', {
        ...{ incident_id: 2, kind: 'opened', about_at: '2026-03-02T00:00:00Z', attempts: 1 },
        ...{ channel: `${channel}`, created_at: '2026-03-02T00:00:00Z' },
        ...{ delivered_at: delivered_at ?? null, last_error: last_error ?? null },
      });
    }
    const { data, ...rest } = await read();
    const concerned = { reason: 'it broke', since: '2026-03-01T00:00:00.000000Z' };
    const message = {
      ...{ kind: 'opened', created_at: '2026-03-02T00:00:00.000000Z', attempts: 1 },
      held_by: null,
    };
    expect(data[0]).toEqual({
      ...{ id: 2, rule: 'repository_failing', subject: '', severity: 'critical', state: 'open' },
      title: 'Repositories are not backed up',
      advice: rules.repository_failing.advice,
      ...{ summary: '2 repositories cannot be backed up', details: { a: 1 } },
      opened_at: '2026-03-02T00:00:00.000000Z',
      last_seen_at: expect.any(String),
      ...{ reminded_at: null, acknowledged_at: null, acknowledged_by: null, resolved_at: null },
      repository_count: 2,
      repositories: [
        { name: 'o/a', ...concerned },
        { name: 'o/b', ...concerned },
      ],
      deliveries: [
        {
          ...{ ...message, channel: 'mail', state: 'waiting', delivered_at: null },
          last_error: 'the mail service answered 500',
        },
        {
          ...{ ...message, channel: 'phone', state: 'delivered', last_error: null },
          delivered_at: '2026-03-02T00:00:01.000000Z',
        },
      ],
    });
    expect(data[1]).toMatchObject({ id: 1, state: 'resolved', repositories: [] });
    expect(rest).toEqual({ pagination: { page: 1, limit: 50, total_items: 2, total_pages: 1 } });
  });

  it('filters by state and rule, in pages', async () => {
    await add(1, RESOLVED);
    await add(2, ACKNOWLEDGED);
    await add(3, { rule: 'run_failed' });
    expect(await idsOf('?state=open')).toEqual([3, 2]);
    expect(await idsOf('?state=acknowledged')).toEqual([2]);
    expect(await idsOf('?state=resolved')).toEqual([1]);
    expect(await idsOf('?rule=run_failed')).toEqual([3]);
    expect(await idsOf('?rule=run_failed&state=resolved')).toEqual([]);
    expect(await idsOf('?limit=1&page=2')).toEqual([2]);
  });

  it('filters by a repository that they concern, or concerned when they were resolved', async () => {
    await add(1, RESOLVED);
    await add(2);
    await add(3);
    await concern(1, 'O/Ne', RESOLVED.resolved_at);
    await concern(2, 'o/ne');
    await concern(3, 'o/ne', '2026-03-04T00:00:00Z');
    expect(await idsOf('?repository=o/NE')).toEqual([2, 1]);
  });

  it.each(['state=none', 'rule=none', 'repository=%00'])('rejects %s', async (query) => {
    expect((await client().get(`/api/incidents?${query}`)).status).toBe(400);
  });

  it('shows an incident whose rule this release does not know', async () => {
    await add(1, { rule: 'of_another_release' });
    expect((await read()).data).toMatchObject([
      { title: 'of_another_release', severity: 'warning', advice: null },
    ]);
  });

  it('uses rule names and texts that can stand in SQL', () => {
    for (const name of ruleNames) {
      expect(rules[name].title).toMatch(/^[\w ,]+$/);
      expect(rules[name].advice).not.toMatch(/['\\]/);
    }
  });
});

describe('POST /api/incidents/:id/acknowledge', () => {
  const acknowledge = (id: number | string) =>
    client().send('POST', `/api/incidents/${id}/acknowledge`);

  it('records who acknowledged it first, and when', async () => {
    await add(1);
    const first = await acknowledge(1);
    expect(first.body).toEqual({
      ...{ id: 1, acknowledged_by: 'api', acknowledged_at: '2026-03-04T05:06:00.000000Z' },
    });
    await sql(database.db, "UPDATE incidents SET acknowledged_by = 'ada'");
    expect((await acknowledge(1)).body).toMatchObject({ acknowledged_by: 'ada' });
    expect((await read()).data).toMatchObject([{ state: 'acknowledged' }]);
  });

  it('answers 409 for a resolved incident, and 404 for one that does not exist', async () => {
    await add(1, RESOLVED);
    expect((await acknowledge(1)).status).toBe(409);
    for (const id of [2, -1, '99999999999999999999']) {
      expect((await acknowledge(id)).status).toBe(404);
    }
  });
});

it('GET /api/overview counts open incidents', async () => {
  await add(1, RESOLVED);
  await add(2, ACKNOWLEDGED);
  await add(3);
  const { body } = await client().get('/api/overview');
  expect(body).toMatchObject({ incidents: { open: 2, unacknowledged: 1 } });
});
