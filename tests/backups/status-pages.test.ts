import { beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { emptyLedger } from '../support/drills.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insert, insertResult, insertRun } from '../support/records.ts';

const database = useDatabase();
const NOW = Date.parse('2026-03-10T12:00:00Z');
const daysAgo = (days: number) => new Date(NOW - days * 86_400_000).toISOString();
const HOSTILE = '<script>alert(1)</script>';

let run: number;
beforeEach(async () => {
  await empty(database.db);
  await emptyLedger(database.db);
  run = await insertRun(database.db);
});

function start() {
  const clock = createTestClock(NOW);
  return { clock, ...createClient({ db: database.db, clock }) };
}
type Client = ReturnType<typeof start>;

interface Created {
  id: number;
  path: string;
  address: string | null;
}

const rows = (...repositories: string[]) =>
  repositories.map((it) => ({ label: it, repositories: [it] }));
async function publish(client: Client, given: object): Promise<Created> {
  const { status, body } = await client.post('/api/status-page', { title: 'Status', ...given });
  expect(status).toBe(201);
  return body as Created;
}
const result = (name: string, ago: number, status = 'completed') =>
  insertResult(database.db, run, name, {
    ...{ created_at: daysAgo(ago), status, archive_size_bytes: 7 },
    error_message: status === 'failed' ? 'fatal: https://secret.example.com is down' : null,
  });
/** The text of the page, without tags. */
const textOf = (html: string) => html.replace(/<style>.*?<\/style>/s, '').replace(/<[^>]*>/g, ' ');

describe('a status page', () => {
  it('shows the state, the last backup, the last proof and 90 days of what was picked', async () => {
    await result('acme/app', 3, 'failed');
    await result('acme/app', 0.5);
    await result('acme/secret', 0.1, 'failed');
    await insert(database.db, 'restore_drills', {
      ...{ repository_name: 'acme/app', outcome: 'proven', storage: 'folder', evidence: '{}' },
      ...{ started_at: daysAgo(2), duration_ms: 5, bytes: 1 },
    });
    const client = start();
    const { path } = await publish(client, { shows: rows('ACME/App') });
    const { status, text, headers } = await client.get(path, {});
    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('text/html');
    const shown = textOf(text);
    expect(shown).toContain('All backups are good.');
    expect(shown).toContain('Last backup:  2026-03-10 00:00 UTC');
    expect(shown).toContain('Last proof:  2026-03-08 12:00 UTC');
    expect(text.match(/<rect /g)).toHaveLength(90);
    expect(text.match(/<rect class="d2"/g)).toHaveLength(1);
    expect(text.match(/<rect class="d1"/g)).toHaveLength(1);
    expect(text).toContain('1 good day and 1 day with failures in 90 days');
    for (const hidden of ['acme/secret', 'secret.example.com', 'fatal', 'folder']) {
      expect(text).not.toContain(hidden);
    }
  });

  it('counts days on which runs found a repository unchanged', async () => {
    await result('acme/app', 60);
    for (const [since, until] of [
      [20, 17],
      [0.2, 0.1],
      [200, 150],
    ]) {
      await insert(database.db, 'repository_checks', {
        ...{ repo_full_name: 'acme/app', since: daysAgo(since ?? 0), until: daysAgo(until ?? 0) },
      });
    }
    const client = start();
    const { path } = await publish(client, { shows: rows('*') });
    const { text } = await client.get(path, {});
    expect(text).toContain('6 good days and 0 days with failures in 90 days');
    expect(text.match(/<rect class="d1"/g)).toHaveLength(6);
  });

  it('shows a group as one row, without the names in it', async () => {
    await result('acme/web-one', 1, 'failed');
    await result('acme/web-two', 0.1);
    await result('other/web-x', 0.1);
    const client = start();
    const shows = [
      { label: HOSTILE, repositories: ['acme/web-*'] },
      { label: 'Gone', repositories: ['acme/none_%'] },
    ];
    const { path } = await publish(client, { title: HOSTILE, shows });
    const { text } = await client.get(path, {});
    expect(text).not.toContain(HOSTILE);
    expect(text).not.toContain('web-one');
    const shown = textOf(text);
    expect(shown).toContain('Not all backups are good.');
    expect(shown).toContain('Never backed up, 1 of 2 good');
    expect(shown).toContain('Oldest last backup: never');
    expect(shown).toContain('Nothing matches');
  });

  it('works without scripts, is not indexed or framed, and is cached for a minute', async () => {
    await result('acme/app', 0.1);
    const client = start();
    const { path } = await publish(client, { shows: rows('*') });
    const { text, headers } = await client.get(path, {});
    expect(text).not.toMatch(/<script|<link|<img|src=|url\(/);
    expect(headers.get('x-robots-tag')).toBe('noindex, nofollow');
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; .*frame-ancestors 'none'$/,
    );
    expect(headers.get('cache-control')).toBe('public, max-age=60');
  });

  it('has an unguessable address, which is not kept, or one that was chosen', async () => {
    const client = start();
    const hidden = await publish(client, { shows: rows('*') });
    expect(hidden.path).toMatch(/^\/status\/[0-9a-f]{32}$/);
    const chosen = await publish(client, { shows: rows('*'), address: 'our-backups' });
    expect(chosen.path).toBe('/status/our-backups');
    const { text, body } = await client.get('/api/status-page');
    expect((body as { data: Created[] }).data.map(({ address }) => address)).toEqual([
      ...['our-backups', null],
    ]);
    expect(text).not.toContain(hidden.path.slice('/status/'.length));
    const again = { title: 'x', shows: rows('*'), address: 'our-backups' };
    const refused = await client.post('/api/status-page', again);
    expect(refused.status).toBe(409);
    expect(refused.body).toMatchObject({ details: [{ path: 'address' }] });
  });

  it('is gone at once when it is revoked, like one that never was, and frees its address', async () => {
    await result('acme/app', 0.1);
    const client = start();
    const { id, path } = await publish(client, { shows: rows('*'), address: 'our-backups' });
    expect((await client.get(path, {})).status).toBe(200);
    expect((await client.send('DELETE', `/api/status-page/${id}`)).status).toBe(200);
    const [gone, never] = [await client.get(path, {}), await client.get('/status/nothing', {})];
    const plain = ({ status, body }: typeof gone) => ({ status, error: Object(body).error });
    expect(plain(gone)).toEqual(plain(never));
    expect(gone.status).toBe(404);
    expect((await client.send('DELETE', `/api/status-page/${id}`)).status).toBe(404);
    await publish(client, { shows: rows('*'), address: 'our-backups' });
  });

  it('is rate limited', async () => {
    const client = start();
    const statuses: number[] = [];
    for (let n = 0; n < 101; n++) statuses.push((await client.get('/status/guess', {})).status);
    expect(new Set(statuses.slice(0, 100))).toEqual(new Set([404]));
    expect(statuses[100]).toBe(429);
  });

  it.each([
    ['title', { title: ' ' }],
    ['shows', { shows: [] }],
    ['shows.0.repositories', { shows: [{ label: 'x', repositories: [] }] }],
    ['shows.0.label', { shows: [{ label: '', repositories: ['*'] }] }],
    ['shows.0.repositories.0', { shows: [{ label: 'x', repositories: ['a*b*c*d*e'] }] }],
    ['address', { address: 'Up' }],
  ])('is refused with an error at %s', async (path, wrong) => {
    const given = { title: 'Status', shows: rows('*'), ...wrong };
    const { status, body } = await start().post('/api/status-page', given);
    expect(status).toBe(400);
    expect(body).toMatchObject({ details: [{ path }] });
  });
});
