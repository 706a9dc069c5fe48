import { beforeEach, describe, expect, it } from 'vitest';
import type { NewDrill } from '../../lib/records/drills/new-drill.ts';
import { readProofs } from '../../lib/records/drills/read-proofs.ts';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { emptyLedger, someDrill, tamper } from '../support/drills.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertResult, insertRun } from '../support/records.ts';

const database = useDatabase();
const NOW = Date.parse('2026-05-20T12:00:00Z');

beforeEach(async () => {
  await empty(database.db);
  await emptyLedger(database.db);
});

const client = () => createClient({ db: database.db, clock: createTestClock(NOW) });
const read = async (path: string) => (await client().get(path)).body as Record<string, unknown>;
const day = (of: number) => `2026-05-${String(of).padStart(2, '0')}T10:00:00.000Z`;
const drill = (of: number, more: Partial<NewDrill> = {}) =>
  recordDrill(database.db, someDrill({ startedAt: day(of), ...more }), null);
const failed = (reason: string): Partial<NewDrill> => ({ outcome: 'failed', reason });

async function track(...names: string[]): Promise<void> {
  const run = await insertRun(database.db);
  for (const name of names) {
    await insertResult(database.db, run, name, { created_at: day(19) });
  }
}

describe('GET /api/repos/:owner/:name/drills', () => {
  it('lists the rows of the ledger in any letter case, newest first', async () => {
    await drill(1);
    await drill(3, { ...failed('CORRUPT'), storage: 's3://backups/git', version: null });
    await drill(2, { repository: 'ada/other' });
    const page = await read('/api/repos/ADA/app/drills');
    expect(page).toMatchObject({
      data: [
        { id: 2, outcome: 'failed', reason: 'CORRUPT', storage: 's3://backups/git', version: null },
        {
          ...{ id: 1, repository: 'ada/app', version: 3, storage: 'folder', outcome: 'proven' },
          ...{ started_at: '2026-05-01T10:00:00.000000Z', duration_ms: 1_200, bytes: 4_096 },
          evidence: { refs: 2, tree_sha: 'b'.repeat(40) },
          previous_sha256: '0'.repeat(64),
        },
      ],
      pagination: { total_items: 2 },
    });
    expect(await read('/api/repos/ada/app/drills?limit=1&page=2')).toMatchObject({
      data: [{ id: 1 }],
    });
    expect(await read('/api/repos/ada/none/drills')).toMatchObject({ data: [] });
  });
});

describe('the last proof of a repository', () => {
  it('comes from the last drill that proved it, and is shown beside the last drill', async () => {
    await track('Ada/App', 'ada/other');
    await drill(1);
    await drill(2, { version: 4, storage: 's3://backups/git' });
    await drill(3, failed('CORRUPT'));
    const proof = { at: '2026-05-02T10:00:00.000000Z', storage: 's3://backups/git', version: 4 };
    const last = { at: '2026-05-03T10:00:00.000000Z', outcome: 'failed', reason: 'CORRUPT' };
    expect(await read('/api/repos/ada/app')).toMatchObject({ last_proof: proof, last_drill: last });
    expect(await read('/api/repos?order=name')).toMatchObject({
      data: [
        { full_name: 'Ada/App', last_proof: proof, last_drill: last },
        { full_name: 'ada/other', last_proof: null, last_drill: null },
      ],
    });
  });
});

it('a drill recorded by a clock that was ahead does not count as a proof', async () => {
  await track('ada/app', 'ada/failing');
  await drill(2);
  await drill(3, failed('CORRUPT'));
  await drill(3, { repository: 'ada/failing', ...failed('CORRUPT') });
  for (const repository of ['ada/app', 'ada/failing']) {
    await drill(20, { repository, startedAt: '2031-01-01T00:00:00.000Z' });
  }
  expect(await read('/api/repos/ada/app')).toMatchObject({
    last_proof: { at: '2026-05-02T10:00:00.000000Z' },
    last_drill: { at: '2026-05-03T10:00:00.000000Z', outcome: 'failed' },
  });
  expect(await read('/api/overview')).toMatchObject({
    proofs: { proven: 0, overdue: 0, never: 0, failing: 2 },
  });
  expect(await readProofs(database.db, new Date(NOW).toISOString(), 5_000)).toMatchObject({
    ...{ proven: 0, never: 0, failing: 2 },
  });
});

describe('the proofs of the overview', () => {
  it('count each repository once, and none with a failed drill as proven', async () => {
    await track('ada/app', 'ada/old', 'ada/never', 'ada/failing');
    await drill(1);
    await drill(2, { repository: 'ada/old', startedAt: '2026-03-01T10:00:00.000Z' });
    await drill(3, { repository: 'ada/failing' });
    await drill(4, { repository: 'ada/failing', ...failed('CORRUPT') });
    expect(await read('/api/overview')).toMatchObject({
      proofs: {
        ...{ proven: 1, overdue: 1, never: 1, failing: 1 },
        oldest_at: '2026-03-01T10:00:00.000000Z',
      },
    });
  });

  it('count a failed drill until a later one proves the repository, whatever is incomplete since', async () => {
    await track('ada/app');
    const failing = async () =>
      ((await read('/api/overview')).proofs as { failing: number }).failing;
    await drill(3, failed('CORRUPT'));
    await drill(4, { outcome: 'incomplete', reason: 'no time' });
    expect(await failing()).toBe(1);
    await drill(5);
    expect(await failing()).toBe(0);
  });
});

it('a failed drill is shown everywhere until a later one proves the repository', async () => {
  await track('ada/app');
  await drill(1);
  await drill(2, failed('CORRUPT'));
  await drill(3, { outcome: 'incomplete', reason: 'the store is away' });
  const made = await client().post('/api/badges', { repository: 'ada/app' });
  const { json: badge } = made.body as { json: string };
  const seen = async () => ({
    last: ((await read('/api/repos/ada/app')).last_drill as { outcome: string }).outcome,
    counts: (await read('/api/overview')).proofs,
    metrics: (await client().get('/metrics')).text.match(
      /^backup_repositor(?:ies_by_drill|y_last_drill)\{.*outcome="\w+"\} 1$/gm,
    ),
    badge: ((await read(badge)) as { message: string }).message,
  });
  expect(await seen()).toMatchObject({
    last: 'failed',
    counts: { proven: 0, failing: 1 },
    metrics: [
      'backup_repositories_by_drill{outcome="failed"} 1',
      'backup_repository_last_drill{repository="ada/app",outcome="failed"} 1',
    ],
    badge: expect.stringContaining('restore failed'),
  });
  await drill(4);
  expect(await seen()).toMatchObject({
    last: 'proven',
    counts: { proven: 1, failing: 0 },
    metrics: [
      'backup_repositories_by_drill{outcome="proven"} 1',
      'backup_repository_last_drill{repository="ada/app",outcome="proven"} 1',
    ],
  });
});

describe('GET /api/evidence', () => {
  const evidence = (more = '') =>
    client().get(`/api/evidence?from=2026-05-01&to=2026-05-10${more}`);

  it('lists what was drilled in the period, and what that proves', async () => {
    await track('ada/app', 'ada/never');
    await drill(2);
    await drill(3, { ...failed('CORRUPT | <b>'), repository: 'ada/never' });
    await drill(12, { repository: 'ada/never' });
    const { status, headers, text } = await evidence();
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect(headers.get('content-disposition')).toBe(
      'attachment; filename="restore-evidence-2026-05-01-2026-05-10.md"',
    );
    expect(text).toContain('# Restore evidence, 2026-05-01 00:00 UTC to 2026-05-10 00:00 UTC');
    expect(text).toContain('Restore drills: 2, proven: 1, failed: 1, incomplete: 0');
    expect(text).toContain(
      'Repositories that are backed up: 2, proven restorable in this period: 1',
    );
    expect(text).toContain(
      'The rows from the first drill of this period to the last, and one on either side, were checked when this report was made (3 rows)',
    );
    expect(text).toContain('`npm run doctor` checks the whole ledger.');
    expect(text).toMatch(/Hash of the last intact row: [0-9a-f]{64}\./);
    expect(text).toContain('| `ada/app` | `2026-05-02 10:00 UTC` | `3` | `folder` |  |');
    expect(text).toContain(
      '| `ada/never` | `not proven` |  |  | `FAILED 2026-05-03 10:00 UTC from folder: CORRUPT \\| <b>` |',
    );
    expect(text).toContain('`failed: CORRUPT \\| <b>`');
    expect(text).not.toContain('2026-05-12');
  });

  it('shows a failure beside an earlier proof, but not one before the proof', async () => {
    await track('ada/app', 'ada/mended');
    await drill(2);
    await drill(3, { ...failed('CORRUPT'), storage: 's3://backups/git' });
    await drill(3, { ...failed('CORRUPT'), repository: 'ada/mended' });
    await drill(4, { repository: 'ada/mended' });
    const { text } = await evidence();
    expect(text).toContain(
      '| `ada/app` | `2026-05-02 10:00 UTC` | `3` | `folder` | `FAILED 2026-05-03 10:00 UTC from s3://backups/git: CORRUPT` |',
    );
    expect(text).toContain('| `ada/mended` | `2026-05-04 10:00 UTC` | `3` | `folder` |  |');
  });

  it('counts no proof recorded by a clock that was ahead, and reports it', async () => {
    await track('ada/app');
    await drill(25);
    const { text } = await client().get('/api/evidence?from=2026-05-01&to=2026-06-01');
    expect(text).toContain(
      'Repositories that are backed up: 1, proven restorable in this period: 0',
    );
    expect(text).toContain('| `ada/app` | `not proven` |  |  |  |');
    expect(text).toContain('| `2026-05-25 10:00 UTC, by a clock that was ahead` | `ada/app` |');
  });

  it('escapes names of repositories in HTML', async () => {
    await track('ada/<script>alert(1)</script>');
    await drill(2, { repository: 'ada/<script>alert(1)</script>', ...failed('"><img src=x>') });
    const { headers, text } = await evidence('&format=html');
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(text).toMatch(/^<!doctype html>/);
    expect(text).toContain('ada/&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(text).toContain('failed: &quot;&gt;&lt;img src=x&gt;');
    expect(text).not.toMatch(/<script|<img/);
    expect(text.endsWith('</html>\n')).toBe(true);
  });

  it('reports a changed ledger', async () => {
    await drill(2);
    await drill(3);
    await tamper(database.db, 'UPDATE restore_drills SET bytes = 5 WHERE id = 2');
    expect((await evidence()).text).toContain(
      'The ledger is NOT intact: it was altered after it was written (row 2). The 1 row before it is.',
    );
  });

  it('checks the rows of the period and their neighbours, and their link to the row before', async () => {
    for (const day of [1, 2, 3, 12]) await drill(day);
    const ofDays = async (from: number, to: number) =>
      (await client().get(`/api/evidence?from=2026-05-${10 + from}&to=2026-05-${10 + to}`)).text;
    expect(await ofDays(1, 5)).toContain('(2 rows)');
    expect(await ofDays(8, 9)).toContain('The ledger has no row in this period.');
    await tamper(database.db, 'UPDATE restore_drills SET bytes = 5 WHERE id = 1');
    expect(await ofDays(1, 5)).toContain('(2 rows)');
    await tamper(database.db, "UPDATE restore_drills SET sha256 = repeat('f', 64) WHERE id = 2");
    const text = await ofDays(1, 5);
    expect(text).toContain('it does not follow the row before it (row 3). `npm run doctor`');
    expect(text).not.toContain('Hash of the last intact row');
  });

  it.each([1, 3])('detects that row %i was moved out of the period', async (id) => {
    for (const day of [2, 3, 4]) await drill(day);
    await tamper(
      database.db,
      `UPDATE restore_drills SET started_at = '2026-04-01' WHERE id = ${id}`,
    );
    expect((await evidence()).text).toContain(
      `The ledger is NOT intact: it was altered after it was written (row ${id}).`,
    );
  });

  it('reads more rows than fit on one page', async () => {
    await database.db.query({
      text: `INSERT INTO restore_drills (repository_name, storage, started_at, duration_ms, bytes, outcome, evidence)
        SELECT 'ada/app-' || n, 'folder', '2026-05-02'::timestamptz + (n / 3) * interval '1 second', 7, 8, 'proven', '{}'
        FROM generate_series(1, 1200) AS n`,
    });
    const rows = (await evidence()).text.match(/^\| `\d+` \|/gm) ?? [];
    expect(new Set(rows).size).toBe(1_200);
  });

  it.each([
    ['without a period', '/api/evidence'],
    ['for a period that ends before it begins', '/api/evidence?from=2026-05-02&to=2026-05-01'],
    ['in another format', '/api/evidence?from=2026-05-01&to=2026-05-02&format=pdf'],
  ])('is rejected %s', async (_what, path) => {
    expect((await client().get(path)).status).toBe(400);
  });
});
