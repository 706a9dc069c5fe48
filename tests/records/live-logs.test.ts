import { beforeEach, describe, expect, it } from 'vitest';
import { pollLogs, readLogEnd, replayLogs } from '../../lib/records/logs/live.ts';
import { everyDatabase } from '../support/databases.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, sql } from '../support/records.ts';

const at = (first: number, last = first) => ({ first: BigInt(first), last: BigInt(last) });

describe.each(everyDatabase)('the live feed on %s', (_name, create) => {
  const database = useDatabase(create);

  beforeEach(() => empty(database.db));

  const insertIds = (...ids: number[]) =>
    sql(
      database.db,
      "INSERT INTO execution_logs (id, message) SELECT id::bigint, 'm' || id FROM unnest($1::text[]) AS id",
      [ids.map(String)],
    );
  const idsOf = (rows: { id: bigint }[]) => rows.map(({ id }) => Number(id));

  it('finds the end when there are no logs', async () => {
    expect(await readLogEnd(database.db, [])).toEqual({
      newest: 0n,
      searchedFrom: 0n,
      missing: [],
      found: [],
    });
    expect(await pollLogs(database.db, 0n, [])).toEqual({ newest: 0n, rows: [] });
    expect(await replayLogs(database.db, { after: 0n, upTo: 0n, late: [] })).toEqual([]);
  });

  it('finds ids that are missing near the end, and those that no longer are', async () => {
    await insertIds(1, 2, 5, 6, 20_000, 20_003);
    expect(await readLogEnd(database.db, [at(1, 4), at(20_000), at(20_002)])).toEqual({
      newest: 20_003n,
      searchedFrom: 10_003n,
      missing: [at(10_004, 19_999), at(20_001, 20_002)],
      found: [1n, 2n, 20_000n],
    });
  });

  it('reads rows above an id and those that were missing, lowest first', async () => {
    await insertIds(2, 3, 4, 7, 10, 12, 13);
    const { newest, rows } = await pollLogs(database.db, 10n, [at(1, 3), at(7, 8), at(11)]);
    expect(newest).toBe(13n);
    expect(idsOf(rows)).toEqual([2, 3, 7, 12, 13]);
    expect(JSON.parse(rows[0]?.message ?? '')).toMatchObject({ type: 'log', id: 2, message: 'm2' });
  });

  it('reads at most 200 rows, those that were missing first', async () => {
    await insertIds(...Array.from({ length: 600 }, (_, n) => n + 1));
    const { rows } = await pollLogs(database.db, 300n, [at(1, 50), at(101, 120)]);
    expect(idsOf(rows).slice(0, 71)).toEqual([
      ...Array.from({ length: 50 }, (_, n) => n + 1),
      ...Array.from({ length: 20 }, (_, n) => n + 101),
      301,
    ]);
    expect(rows).toHaveLength(200);
  });

  it('keeps 64-bit ids exact', async () => {
    const largest = 2n ** 63n - 1n;
    await sql(database.db, 'INSERT INTO execution_logs (id) VALUES (9223372036854775807)');
    const { newest, rows } = await pollLogs(database.db, largest - 1n, []);
    expect([newest, rows[0]?.id]).toEqual([largest, largest]);
    expect(rows[0]?.message).toContain('"id":9223372036854775807,');
    expect((await readLogEnd(database.db, [])).newest).toBe(largest);
  });

  it('replays the newest missed rows, including late ones', async () => {
    await insertIds(1, 2, 3, 5, 8, 9);
    const rows = await replayLogs(database.db, { after: 4n, upTo: 8n, late: [2n, 4n] });
    expect(idsOf(rows)).toEqual([2, 5, 8]);
  });
});
