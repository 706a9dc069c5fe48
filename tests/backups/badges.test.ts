import { beforeEach, describe, expect, it } from 'vitest';
import { drawBadge } from '../../lib/backups/badges/svg.ts';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { emptyLedger } from '../support/drills.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insert, insertResult, insertRun, sql } from '../support/records.ts';

const database = useDatabase();
const NOW = Date.parse('2026-03-10T12:00:00Z');
const daysAgo = (days: number) => new Date(NOW - days * 86_400_000).toISOString();

let run: number;

beforeEach(async () => {
  await empty(database.db);
  await emptyLedger(database.db);
  run = await insertRun(database.db);
});

const createBadgeClient = () => createClient({ db: database.db, clock: createTestClock(NOW) });
type Client = ReturnType<typeof createBadgeClient>;

const good = (name: string) =>
  insertResult(database.db, run, name, { created_at: daysAgo(0.1), archive_size_bytes: 7 });
const failed = (name: string, fault: string | null = null) =>
  insertResult(database.db, run, name, { created_at: daysAgo(0), status: 'failed', fault });
const drill = (repository_name: string, ago: number, outcome = 'proven') =>
  insert(database.db, 'restore_drills', {
    ...{ repository_name, outcome, storage: 'folder', started_at: daysAgo(ago) },
    ...{ duration_ms: 5, bytes: 1, evidence: '{}' },
    reason: outcome === 'proven' ? null : 'it is damaged',
  });

interface Created {
  id: number;
  svg: string;
  json: string;
}

async function create(client: Client, repository?: string): Promise<Created> {
  const { status, body } = await client.post('/api/badges', { repository });
  expect(status).toBe(201);
  return body as Created;
}

async function shown(repository?: string): Promise<unknown> {
  const client = createBadgeClient();
  const { json } = await create(client, repository);
  return (await client.get(json, {})).body;
}

describe('a badge while incidents are open', () => {
  const open = async (rule: string, repositories: string[]) => {
    const id = await insert(database.db, 'incidents', { rule, subject: '', summary: 'it is so' });
    for (const repository_name of repositories) {
      await sql(
        database.db,
        'INSERT INTO incident_repositories (incident_id, repository_name) VALUES ($1, $2)',
        [id, repository_name],
      );
    }
  };
  beforeEach(() => sql(database.db, 'TRUNCATE incidents CASCADE'));

  it('counts all of them, or only those that concern its repository', async () => {
    await good('acme/app');
    await good('acme/other');
    await drill('acme/app', 1);
    await drill('acme/other', 1);
    await open('run_missed', []);
    await open('anomaly', ['acme/APP', 'acme/third']);
    const message = 'good, proven 1 day ago';
    expect(await shown()).toMatchObject({ message: `${message}, 2 incidents`, color: 'orange' });
    expect(await shown('acme/app')).toMatchObject({
      message: `${message}, 1 incident`,
      color: 'orange',
    });
    expect(await shown('acme/other')).toMatchObject({ message, color: 'brightgreen' });
  });

  it('does not count one that is resolved, or that the repository has left', async () => {
    await good('acme/app');
    await open('anomaly', ['acme/app']);
    await sql(database.db, 'UPDATE incident_repositories SET resolved_at = now()');
    expect(await shown('acme/app')).toMatchObject({ message: 'good, not proven' });
    await sql(database.db, 'UPDATE incidents SET resolved_at = now()');
    expect(await shown()).toMatchObject({ message: 'good, not proven', color: 'green' });
  });

  it('stays red if the state is red', async () => {
    await failed('acme/app');
    await open('repository_failing', ['acme/app']);
    expect(await shown('acme/app')).toMatchObject({
      message: 'never backed up, not proven, 1 incident',
      color: 'red',
    });
  });
});

describe('the badge of a repository', () => {
  it('shows in the format of shields.io that the repository is good, and when it was proven', async () => {
    await good('acme/app');
    await drill('ACME/App', 12.5);
    expect(await shown('Acme/APP')).toEqual({
      schemaVersion: 1,
      label: 'backup',
      message: 'good, proven 12 days ago',
      color: 'brightgreen',
    });
  });

  it.each([
    [0.5, 'good, proven today', 'brightgreen'],
    [1, 'good, proven 1 day ago', 'brightgreen'],
    [30, 'good, proven 30 days ago', 'brightgreen'],
    [30.1, 'good, proven 30 days ago', 'green'],
    [31, 'good, proven 31 days ago', 'green'],
    [-400, 'good, not proven', 'green'],
  ])('shows a proof %d days ago as "%s" in %s', async (ago, message, color) => {
    await good('acme/app');
    await drill('acme/app', ago);
    expect(await shown('acme/app')).toMatchObject({ message, color });
  });

  it.each([
    ['is not proven', () => good('acme/app'), 'good, not proven', 'green'],
    [
      'is stale',
      () => insertResult(database.db, run, 'acme/app', { created_at: daysAgo(3) }),
      'stale, not proven',
      'orange',
    ],
    ['was never good', () => failed('acme/app'), 'never backed up, not proven', 'red'],
    [
      'fails',
      async () => {
        await good('acme/app');
        await failed('acme/app');
      },
      'failing, not proven',
      'red',
    ],
    [
      'no longer exists at its source',
      async () => {
        await good('acme/app');
        await failed('acme/app', 'missing');
      },
      'lost at its source, not proven',
      'red',
    ],
    [
      'could not be restored last time, despite an earlier proof and a later unfinished drill',
      async () => {
        await good('acme/app');
        await drill('acme/app', 3);
        await drill('acme/app', 2, 'failed');
        await drill('acme/app', 1, 'incomplete');
      },
      'good, restore failed',
      'red',
    ],
  ])('shows a repository that %s', async (_what, prepare, message, color) => {
    await prepare();
    expect(await shown('acme/app')).toMatchObject({ message, color });
  });

  it('is unknown once all results of the repository are deleted', async () => {
    await good('acme/app');
    const client = createBadgeClient();
    const { json } = await create(client, 'acme/app');
    await sql(database.db, 'DELETE FROM backup_results');
    expect((await client.get(json, {})).body).toMatchObject({
      message: 'unknown',
      color: 'lightgrey',
    });
  });
});

describe('the badge of all repositories', () => {
  it('is unknown without any repository', async () => {
    expect(await shown()).toMatchObject({ message: 'unknown', color: 'lightgrey' });
  });

  it('shows the worst state, and the oldest of the last proofs', async () => {
    await good('acme/app');
    await good('acme/web');
    await drill('acme/app', 20);
    await drill('acme/app', 2);
    await drill('acme/web', 9);
    expect(await shown()).toMatchObject({
      message: 'good, proven 9 days ago',
      color: 'brightgreen',
    });
    await failed('acme/web');
    expect(await shown()).toMatchObject({ message: 'failing, proven 9 days ago', color: 'red' });
  });

  it('does not claim that all are proven if one is not', async () => {
    await good('acme/app');
    await good('acme/web');
    await drill('acme/app', 2);
    expect(await shown()).toMatchObject({ message: 'good, not all proven', color: 'green' });
  });

  it('is red if one repository could not be restored', async () => {
    await good('acme/app');
    await good('acme/web');
    await drill('acme/app', 2);
    await drill('acme/web', 2, 'failed');
    expect(await shown()).toMatchObject({ message: 'good, restore failed', color: 'red' });
  });
});

describe('the image of a badge', () => {
  it('contains the text, has no script or style, and cannot run or load anything', async () => {
    await good('acme/app');
    const client = createBadgeClient();
    const { svg } = await create(client, 'acme/app');
    expect(svg).toMatch(/^\/badges\/[0-9a-f]{32}\.svg$/);
    const { status, text, headers } = await client.get(svg, {});
    expect(status).toBe(200);
    expect(text).toMatch(/^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
    expect(text).toContain('<title>backup: good, not proven</title>');
    expect(text).not.toMatch(/<script|<style|style=|href|acme/);
    expect(headers.get('content-type')).toBe('image/svg+xml; charset=utf-8');
    expect(headers.get('content-security-policy')).toBe(
      "default-src 'none'; sandbox; frame-ancestors 'none'",
    );
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('may be embedded by other sites, and cached for five minutes', async () => {
    const client = createBadgeClient();
    const { svg } = await create(client);
    const { status, headers } = await client.get(svg, {
      'Sec-Fetch-Site': 'cross-site',
      'Sec-Fetch-Mode': 'no-cors',
      'Sec-Fetch-Dest': 'image',
    });
    expect(status).toBe(200);
    expect(headers.get('cross-origin-resource-policy')).toBe('cross-origin');
    expect(headers.get('cache-control')).toBe('public, max-age=300');
  });

  it('is not sent again while it is unchanged', async () => {
    await good('acme/app');
    const client = createBadgeClient();
    const { svg } = await create(client);
    const etag = (await client.get(svg, {})).headers.get('etag') ?? '';
    const same = await client.get(svg, { 'If-None-Match': etag });
    expect([same.status, same.text]).toEqual([304, '']);
    expect(same.headers.get('cache-control')).toBe('public, max-age=300');
    await failed('acme/app');
    client.deps.clock.advance(30_000);
    expect((await client.get(svg, { 'If-None-Match': etag })).status).toBe(200);
  });
});

it('a badge queries the database once in 30 seconds, however many requests it gets', async () => {
  await good('acme/app');
  const client = createBadgeClient();
  const [one, other] = [await create(client, 'acme/app'), await create(client, 'acme/app')];
  const messageOf = async ({ json }: Created) =>
    ((await client.get(json, {})).body as { message: string }).message;
  expect(await messageOf(one)).toBe('good, not proven');
  await failed('acme/app');
  client.deps.clock.advance(29_999);
  expect(await messageOf(other)).toBe('good, not proven');
  client.deps.clock.advance(1);
  expect(await messageOf(other)).toBe('failing, not proven');
});

describe('an invalid badge address', () => {
  it('gets the same answer whether it was revoked, never existed or is malformed', async () => {
    const client = createBadgeClient();
    const { id, svg } = await create(client);
    expect((await client.get(svg, {})).status).toBe(200);
    expect((await client.send('DELETE', `/api/badges/${id}`)).status).toBe(200);
    const paths = [
      ...[svg, `/badges/${'0'.repeat(32)}.svg`, `/badges/${'0'.repeat(32)}.json`, '/badges/x.svg'],
      ...['/badges/x', `/badges/${'x'.repeat(5_000)}.svg`, "/badges/'.svg", '/badges/%00.json'],
    ];
    for (const path of paths) {
      const { status, headers, body } = await client.get(path, {});
      expect([path, status]).toEqual([path, 404]);
      expect(body).toEqual({ error: 'badge not found', request_id: headers.get('x-request-id') });
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  it('cannot be guessed without hitting the rate limit', async () => {
    const client = createBadgeClient();
    const answers = [];
    for (let n = 0; n < 101; n++) answers.push((await client.get(`/badges/${n}.svg`, {})).status);
    expect(answers.slice(0, 100)).toEqual(Array(100).fill(404));
    expect(answers[100]).toBe(429);
  });
});

describe('/api/badges', () => {
  it('lists badges in use without their addresses, which are stored nowhere', async () => {
    await good('acme/app');
    const client = createBadgeClient();
    const all = await create(client);
    const one = await create(client, 'ACME/app');
    const { body, text } = await client.get('/api/badges');
    expect(body).toMatchObject({
      data: [
        { id: one.id, repository: 'acme/app', created_by: 'api' },
        { id: all.id, repository: null, created_by: 'api' },
      ],
      pagination: { total_items: 2 },
    });
    expect((await client.get('/api/badges?repository=Acme/APP')).body).toMatchObject({
      data: [{ id: one.id }],
      pagination: { total_items: 1 },
    });
    const stored = await sql(database.db, 'SELECT row_to_json(badge)::text FROM badges AS badge');
    for (const { svg } of [all, one]) {
      expect(text + JSON.stringify(stored)).not.toContain(svg.slice(8, 40));
    }
    await client.send('DELETE', `/api/badges/${all.id}`);
    expect((await client.get('/api/badges')).body).toMatchObject({ data: [{ id: one.id }] });
    expect((await client.send('DELETE', `/api/badges/${all.id}`)).status).toBe(404);
  });

  it('accepts only tracked repositories', async () => {
    const client = createBadgeClient();
    expect((await client.post('/api/badges', { repository: 'acme/none' })).status).toBe(404);
  });

  it('limits the number of badges', async () => {
    await sql(
      database.db,
      'INSERT INTO badges (token_sha256) SELECT n::text FROM generate_series(1, 1000) AS n',
    );
    const client = createBadgeClient();
    expect(await client.post('/api/badges', {})).toMatchObject({
      status: 409,
      body: { error: 'there are 1000 badges: revoke one first' },
    });
    await sql(database.db, 'UPDATE badges SET revoked_at = now() WHERE id = 7');
    expect((await client.post('/api/badges', {})).status).toBe(201);
  });
});

it('drawBadge escapes all text', () => {
  const text = drawBadge({
    schemaVersion: 1,
    label: `</title><script>"'&`,
    message: '<x>',
    color: 'red',
  });
  expect(text).toContain('<title>&lt;/title&gt;&lt;script&gt;&quot;&#39;&amp;: &lt;x&gt;</title>');
  expect(text).not.toMatch(/<script|<x>/);
});
