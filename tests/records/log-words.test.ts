import { beforeAll, describe, expect, it } from 'vitest';
import { listFilteredLogs } from '../../lib/records/logs/filtered.ts';
import type { LogSelection } from '../../lib/records/logs/selection.ts';
import { parseQuery } from '../../lib/search/parse-query.ts';
import { useDatabase } from '../support/hooks.ts';
import { sql } from '../support/records.ts';

// What a search for words finds before it runs out of time. Only the time budget matters, so each test gives it none or
// plenty.

const database = useDatabase();
const NONE = { searchMs: 0, readMs: 0 };
const TO_READ = { searchMs: 0, readMs: 600_000 };
const PLENTY = { searchMs: 600_000, readMs: 600_000 };

/** The logs with the word `needle`: one in the newest 2,048 ids, one in the newest 5,000 logs, and an old one. */
const [OLD, MIDDLE, NEW] = [50, 4_000, 7_990];

beforeAll(async () => {
  await sql(
    database.db,
    `INSERT INTO execution_logs (message, level, repository, created_at)
     SELECT CASE WHEN n IN (${OLD}, ${MIDDLE}, ${NEW}) THEN 'the needle' ELSE 'hay' END || ' of line ' || n,
       CASE WHEN n <= 100 THEN 'warn' ELSE 'info' END, 'acme/app-' || n % 2,
       timestamptz '2026-03-01' + n * interval '1 second'
     FROM generate_series(1, 8000) AS n`,
  );
});

async function find(text: string, budget: typeof NONE, selection: LogSelection = {}) {
  const page = { page: 1, limit: 500 };
  const words = parseQuery(text).alternatives;
  const { items, isCut } = await listFilteredLogs(database.db, page, selection, words, budget);
  return { ids: JSON.parse(items).map(({ id }: { id: number }) => id), isCut };
}

describe('a search for words', () => {
  it('finds matches among all logs', async () => {
    expect(await find('needle', PLENTY)).toEqual({ ids: [NEW, MIDDLE, OLD], isCut: false });
  });

  it('finds matches in the newest 5,000 logs when there is no time for all, and reports that it was cut short', async () => {
    expect(await find('needle', TO_READ)).toEqual({ ids: [NEW, MIDDLE], isCut: true });
  });

  it('finds matches among the newest ids when there is no time at all, and reports that it was cut short', async () => {
    expect(await find('needle', NONE)).toEqual({ ids: [NEW], isCut: true });
  });

  it('reads the newest 5,000 logs of the selection, not of all', async () => {
    const old = { until: '2026-03-01T01:30:00Z' };
    expect(await find('needle', TO_READ, old)).toEqual({ ids: [MIDDLE], isCut: true });
    const repository = { repository: 'acme/app-0', beforeId: NEW };
    expect(await find('needle', TO_READ, repository)).toEqual({ ids: [MIDDLE, OLD], isCut: false });
  });

  it('reads a selection of at most 5,000 logs completely, without the index', async () => {
    expect(await find('needle', TO_READ, { level: 'warn' })).toEqual({ ids: [OLD], isCut: false });
  });

  it('reports that it was cut short if there was no time to read a small selection', async () => {
    expect(await find('needle', NONE, { level: 'warn' })).toEqual({ ids: [], isCut: true });
  });
});
