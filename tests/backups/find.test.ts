import { beforeAll, describe, expect, it } from 'vitest';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { recordStoring } from '../../lib/records/recording/stores.ts';
import { repositoryOrders } from '../../lib/records/repositories/list.ts';
import { runOrders } from '../../lib/records/runs/runs.ts';
import { createClient } from '../support/client.ts';
import { createTestClock } from '../support/clock.ts';
import { emptyLedger, someDrill } from '../support/drills.ts';
import { useDatabase } from '../support/hooks.ts';
import { insertLog, insertResult, insertRun, sql } from '../support/records.ts';

// The lists behind the figures of the overview, and their orders.

const database = useDatabase();
const NOW = Date.parse('2026-05-20T12:00:00Z');
const day = (of: number) => `2026-05-${String(of).padStart(2, '0')}T10:00:00.000Z`;

const client = () => createClient({ db: database.db, clock: createTestClock(NOW) });
const read = async (path: string) => {
  const { status, body } = await client().get(path);
  expect(status).toBe(200);
  return body as { data: Record<string, unknown>[]; pagination: { total_items: number } };
};
const names = async (query: string) =>
  (await read(`/api/repos?${query}`)).data.map(({ full_name }) => String(full_name).slice(2));
const ids = async (query: string) => (await read(`/api/backups?${query}`)).data.map(({ id }) => id);

beforeAll(async () => {
  const { db } = database;
  await emptyLedger(db);
  const run = await insertRun(db, { started_at: day(1), duration_ms: 500, failed: 1 });
  await insertRun(db, { started_at: day(2), duration_ms: 9_000, failed: 0 });
  await insertRun(db, { started_at: day(3), duration_ms: 100, failed: 7 });
  const sizes = { proven: 30, overdue: 10, untried: 50, damaged: 20 };
  for (const [index, [name, size]] of Object.entries(sizes).entries()) {
    await insertResult(db, run, `o/${name}`, {
      created_at: day(10 + index),
      archive_size_bytes: size,
    });
    const made = 'INSERT INTO archive_versions (repo_full_name, version) VALUES ($1, 1), ($1, 2)';
    await sql(db, made, [`o/${name}`]);
  }
  const drilled = (name: string, startedAt: string, more = {}) =>
    recordDrill(db, someDrill({ repository: `o/${name}`, startedAt, ...more }), null);
  await drilled('overdue', '2026-03-01T10:00:00.000Z');
  await drilled('proven', day(15));
  await drilled('damaged', day(14));
  await drilled('damaged', day(16), { outcome: 'failed', reason: 'CORRUPT' });
  const stored = (name: string, version: number | null, reason = '') =>
    recordStoring(db, { repository: `o/${name}`, store: 's3://b', version, reason });
  await stored('proven', 2);
  await stored('overdue', 1);
  await stored('damaged', 1);
  await stored('damaged', 2, 'AccessDenied');
});

describe('the repositories behind a figure', () => {
  it.each(['proven', 'overdue', 'never', 'failing'])(
    'are those whose proof is %s',
    async (proof) => {
      const { body } = await client().get('/api/overview');
      const { proofs } = body as { proofs: Record<string, number> };
      const list = await read(`/api/repos?proof=${proof}`);
      expect(list.pagination.total_items).toBe(proofs[proof]);
      const [shown] = list.data;
      const expected = {
        proven: 'proven',
        overdue: 'overdue',
        never: 'untried',
        failing: 'damaged',
      };
      expect(shown?.full_name).toBe(`o/${expected[proof as keyof typeof expected]}`);
    },
  );

  it.each(['current', 'behind', 'missing', 'failing'])(
    'are those of which a store has: %s',
    async (state) => {
      const { body } = await client().get('/api/overview');
      const { off_site } = body as { off_site: Record<string, number> };
      const list = await read(`/api/repos?off_site=${state}&order=name`);
      expect(list.pagination.total_items).toBe(off_site[state]);
      expect(list.data.map(({ full_name }) => full_name)).toEqual(
        {
          current: ['o/proven'],
          behind: ['o/damaged', 'o/overdue'],
          missing: ['o/untried'],
          failing: ['o/damaged'],
        }[state],
      );
    },
  );

  it('can be found by several filters at once', async () => {
    expect(await names('off_site=behind&proof=failing&state=stale&text=DAM')).toEqual(['damaged']);
    expect(await names('off_site=behind&proof=never')).toEqual([]);
  });
});

describe('the order of repositories', () => {
  it.each([
    ['size', ['untried', 'proven', 'damaged', 'overdue']],
    ['name', ['damaged', 'overdue', 'proven', 'untried']],
    ['newest', ['damaged', 'untried', 'overdue', 'proven']],
    ['last_good', ['damaged', 'untried', 'overdue', 'proven']],
    ['worst', ['proven', 'overdue', 'untried', 'damaged']],
    ['proof', ['damaged', 'untried', 'overdue', 'proven']],
  ])('%s can be reversed', async (order, expected) => {
    expect(await names(`order=${order}`)).toEqual(expected);
    expect(await names(`order=${order}&reverse=true`)).toEqual(expected.toReversed());
    expect(await names(`order=${order}&limit=1&page=2`)).toEqual([expected[1]]);
  });

  it('is tested for each', () => expect(repositoryOrders).toHaveLength(6));
});

describe('the order of runs', () => {
  it.each([
    ['newest', [3, 2, 1]],
    ['longest', [2, 1, 3]],
    ['failures', [3, 1, 2]],
  ])('%s can be reversed', async (order, expected) => {
    expect(await ids(`order=${order}`)).toEqual(expected);
    expect(await ids(`order=${order}&reverse=true`)).toEqual(expected.toReversed());
    expect(await ids(`order=${order}&limit=1&page=2`)).toEqual([expected[1]]);
  });

  it('is tested for each', () => expect(runOrders).toHaveLength(3));

  it('names what can be asked for', async () => {
    const { status, body } = await client().get('/api/backups?order=shortest');
    expect([status, body]).toEqual([
      400,
      expect.objectContaining({ error: expect.stringContaining('newest, longest, failures') }),
    ]);
  });
});

describe('GET /api/logs/:id', () => {
  const messages = async (id: number) =>
    (await read(`/api/logs/${id}`)).data.map(({ message }) => message);

  it('shows a line among those of its run, before and after it', async () => {
    const { db } = database;
    const ids: number[] = [];
    for (let n = 1; n <= 130; n++) {
      // All at one time, so that the ids decide; every other line is of another run.
      const line = { created_at: day(5), message: `line ${n}`, run_id: n % 2 === 0 ? 1 : 2 };
      ids.push(await insertLog(db, line));
    }
    const around = await messages(ids[63] ?? 0);
    expect(around[around.indexOf('line 64')]).toBe('line 64');
    expect(around[0]).toBe('line 130');
    expect(around.at(-1)).toBe('line 2');
    expect(around.every((message) => Number(String(message).slice(5)) % 2 === 0)).toBe(true);
    const many: number[] = [];
    for (let n = 1; n <= 120; n++) {
      many.push(await insertLog(db, { created_at: day(6), message: `of no run ${n}` }));
    }
    const inTheMiddle = await messages(many[59] ?? 0);
    expect([inTheMiddle[0], inTheMiddle.at(-1), inTheMiddle.length]).toEqual([
      'of no run 110',
      'of no run 10',
      101,
    ]);
    expect(await messages(many[119] ?? 0)).toContain('of no run 120');
  });

  it.each([0, -1, 987_654_321, Number.MAX_SAFE_INTEGER])(
    'answers 404 for the id %i',
    async (id) => {
      expect((await client().get(`/api/logs/${id}`)).status).toBe(404);
    },
  );
});
