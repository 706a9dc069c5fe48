import { beforeEach, describe, expect, it } from 'vitest';
import type { SqlValue } from '../../lib/database/database.ts';
import { createClient } from '../support/client.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertLog, insertRun, sql } from '../support/records.ts';

const database = useDatabase();
beforeEach(() => empty(database.db));

const get = (query: string) => createClient({ db: database.db }).get(`/api/logs?${query}`);

interface Listed {
  data: { id: number; message: string }[];
  pagination: { total_items: number; total_pages: number };
  truncated?: true;
}
const list = async (query: string) => (await get(query)).body as Listed;
/** The ids of the only page, after checking that the total agrees. */
async function idsOf(query: string): Promise<number[]> {
  const { data, pagination, truncated } = await list(query);
  expect(pagination.total_items).toBe(data.length);
  expect(truncated).toBeUndefined();
  return data.map(({ id }) => id);
}

const at = (minute: number) => new Date(Date.UTC(2026, 2, 1, 0, minute)).toISOString();
const log = (minute: number, row: Record<string, SqlValue> = {}) =>
  insertLog(database.db, { created_at: at(minute), ...row });

describe('GET /api/logs', () => {
  it('finds logs of all levels by the full name of a repository, in any letter case', async () => {
    const info = await log(1, { repository: 'acme/App', level: 'INFO' });
    const error = await log(2, { repository: 'ACME/app', level: 'error' });
    await log(3, { repository: 'acme/app-2' });
    await log(4, { repository: null, message: 'acme/app' });
    const debug = await log(5, { repository: 'acme/app', level: 'debug' });
    expect(await idsOf('repository=acme/APP')).toEqual([debug, error, info]);
    expect(await idsOf('repository=acme/app&level=error')).toEqual([error]);
    expect(await idsOf('repository=acme')).toEqual([]);
  });

  it('finds logs between two times', async () => {
    const [first, second, third] = [await log(1), await log(2), await log(3)];
    expect(await idsOf(`from=${at(2)}`)).toEqual([third, second]);
    expect(await idsOf(`to=${at(2)}`)).toEqual([first]);
    expect(await idsOf(`from=${at(2)}&to=${at(3)}`)).toEqual([second]);
    expect(await idsOf(`from=${at(3)}&to=${at(2)}`)).toEqual([]);
  });

  it('finds logs with all words of a text in the message or repository name', async () => {
    const both = await log(1, { message: 'Clone TIMED out', repository: 'acme/widgets' });
    const one = await log(2, { message: 'timed', repository: 'other/app' });
    expect(await idsOf('text=timed')).toEqual([one, both]);
    expect(await idsOf('text=timed%20WIDGETS')).toEqual([both]);
    expect(await idsOf('text=timed%20acme/widgets')).toEqual([both]);
    expect(await idsOf('text=%22clone%20timed%22')).toEqual([both]);
    expect(await idsOf('text=timed%20-clone')).toEqual([one]);
    expect(await idsOf('text=clone%20or%20other/app')).toEqual([one, both]);
    expect(await idsOf('text=nowhere')).toEqual([]);
  });

  it('ignores a blank text, and finds nothing for a text without words', async () => {
    const only = await log(1, { message: 'what?!' });
    expect(await idsOf('text=')).toEqual([only]);
    expect(await idsOf('text=%20%20')).toEqual([only]);
    expect(await idsOf('text=%3F!')).toEqual([]);
    expect(await idsOf('text=-')).toEqual([]);
  });

  it('combines every filter with every other', async () => {
    const run = await insertRun(database.db);
    const row = { repository: 'acme/app', run_id: run, level: 'warn', message: 'slow clone' };
    const wanted = await log(5, row);
    // Each of these fails one filter.
    await log(5, { ...row, repository: 'acme/other' });
    await log(5, { ...row, run_id: await insertRun(database.db) });
    await log(5, { ...row, level: 'info' });
    await log(5, { ...row, message: 'fast clone' });
    await log(4, row);
    await log(6, row);
    const last = await log(5, row);
    const filters = [
      'repository=acme/app',
      `run_id=${run}`,
      'level=warn',
      `from=${at(5)}`,
      `to=${at(6)}`,
      'text=slow',
      `before_id=${last}`,
    ];
    expect(await idsOf(filters.join('&'))).toEqual([wanted]);
    // `before_id` also excludes what only `to` would.
    for (const left of filters.filter((filter) => !filter.startsWith('to='))) {
      const rest = filters.filter((filter) => filter !== left);
      const found = await idsOf(rest.join('&'));
      expect(found, `without ${left}`).toContain(wanted);
      expect(found, `without ${left}`).toHaveLength(2);
    }
    for (const one of filters) {
      for (const other of filters) {
        expect(await idsOf(`${one}&${other.replace(one, '')}`)).toContain(wanted);
      }
    }
  });

  it('orders by time, then by id, in pages', async () => {
    const row = { repository: 'acme/app', message: 'tick' };
    const late = await log(9, { ...row, level: 'error' });
    const ids = [await log(1, row), await log(2, row), await log(2, { ...row, level: 'warn' })];
    const order = [late, ...ids.toReversed()];
    for (const filter of ['repository=acme/app', 'text=tick', 'from=2020-01-01']) {
      const pages = await Promise.all(
        [1, 2, 3].map((page) => list(`${filter}&limit=2&page=${page}`)),
      );
      expect(pages.flatMap(({ data }) => data.map(({ id }) => id))).toEqual(order);
      for (const { pagination } of pages) {
        expect(pagination).toMatchObject({ total_items: 4, total_pages: 2 });
      }
    }
  });

  it('continues after a log, in the order of the list', async () => {
    const row = { message: 'tick', repository: 'acme/app' };
    const [late, early, tied] = [await log(9, row), await log(2, row), await log(2, row)];
    for (const filter of ['', 'text=tick&', 'repository=acme/app&']) {
      expect(await idsOf(`${filter}before_id=${late}`)).toEqual([tied, early]);
      expect(await idsOf(`${filter}before_id=${tied}`)).toEqual([early]);
      expect(await idsOf(`${filter}before_id=${early}`)).toEqual([]);
    }
  });

  it.each(['before_id=99', 'before_id=-1', `before_id=${'9'.repeat(40)}`, 'text=a&before_id=99'])(
    'answers 404 for %s, because no log has this id',
    async (query) => {
      await log(1);
      expect(await get(query)).toMatchObject({
        status: 404,
        body: { error: expect.stringMatching(/^log \d+ does not exist|^log -1 does not exist/) },
      });
    },
  );

  it('returns whole messages and every field', async () => {
    const message = `long ${'x'.repeat(30_000)}`;
    const id = await log(1, { message, repository: 'acme/app', level: 'ERROR' });
    expect((await list('repository=acme/app')).data).toEqual([
      {
        id,
        created_at: '2026-03-01T00:01:00.000000Z',
        level: 'ERROR',
        message,
        repository: 'acme/app',
        run_id: null,
      },
    ]);
  });

  it('counts at most 10,000 logs that match a filter, and has no page beyond them', async () => {
    await sql(
      database.db,
      `INSERT INTO execution_logs (message, repository, created_at)
       SELECT 'line ' || n, 'acme/app', timestamptz '2026-03-01' + n * interval '1 second'
       FROM generate_series(1, 10010) AS n`,
    );
    for (const filter of ['repository=acme/app', 'from=2020-01-01']) {
      const last = await list(`${filter}&limit=500&page=20`);
      expect(last.pagination).toMatchObject({ total_items: 10_000, total_pages: 20 });
      expect(last.data).toHaveLength(500);
      expect((await list(`${filter}&limit=500&page=21`)).data).toEqual([]);
      expect((await list(`${filter}&page=9007199254740991`)).data).toEqual([]);
      const oldest = last.data.at(-1)?.id;
      expect((await list(`${filter}&before_id=${oldest}`)).data).toHaveLength(10);
    }
    const found = await list('text=line&limit=300&page=4');
    expect(found.pagination).toMatchObject({ total_items: 1_000, total_pages: 4 });
    expect(found.data).toHaveLength(100);
  });

  it.each([
    'from=yesterday',
    'to=0000-01-01',
    'before_id=x',
    'repository=a&repository=b',
    'text=a&text=b',
    'text=a%00b',
    'repository=a%00b',
    `text=${'x'.repeat(201)}`,
    `repository=${'x'.repeat(256)}`,
  ])('rejects %s', async (query) => {
    expect((await get(query)).status).toBe(400);
  });

  it.each([
    "'; DROP TABLE execution_logs; --",
    "%L %s %% $1 \\' ''",
    '")) OR true --',
    'a:* & !b | <->',
  ])('takes %s literally in every filter', async (hostile) => {
    const id = await log(1, { repository: hostile, message: 'x' });
    await log(2, { repository: 'other', message: 'x' });
    const value = encodeURIComponent(hostile);
    expect(await idsOf(`repository=${value}`)).toEqual([id]);
    expect(await idsOf(`repository=${value}&text=x`)).toEqual([id]);
    expect((await get(`text=${value}`)).status).toBe(200);
  });
});
