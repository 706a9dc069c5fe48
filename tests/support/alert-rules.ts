import { beforeEach, expect } from 'vitest';
import { evaluateRules } from '../../lib/alerts/incidents/evaluate.ts';
import type { Environment } from '../../lib/config/read.ts';
import type { SqlValue } from '../../lib/database/database.ts';
import { createTestClock } from './clock.ts';
import { emptyLedger } from './drills.ts';
import { useDatabase } from './hooks.ts';
import { ago, alertDeps, HOUR_MS, listStored } from './incidents.ts';
import { empty, insertResult, insertRun } from './records.ts';

/** The row of a failed result. */
export const failed = (fault: string | null, error_message = 'it broke') => ({
  ...{ status: 'failed', fault, error_message },
});
/** The row of a good result. */
export const good = { status: 'completed' };

/** Gives the file a database that is empty before each test, and shows what the rules find in it. */
export function useRules() {
  const database = useDatabase();
  const clock = createTestClock();
  beforeEach(async () => {
    await empty(database.db);
    await emptyLedger(database.db);
  });

  /** The incidents that an evaluation opens. */
  async function opened(environment: Environment = {}) {
    const deps = await alertDeps(database.db, [], { clock, environment });
    await evaluateRules(deps);
    expect(deps.logged.filter(({ message }) => message.includes('could not'))).toEqual([]);
    return (await listStored(database.db)).map(({ rule, subject, summary, repositories }) => ({
      ...{ rule, subject, summary, repositories },
    }));
  }

  const run = (hoursAgo: number, row: Record<string, SqlValue> = {}) =>
    insertRun(database.db, {
      ...{ status: 'completed', started_at: ago(clock, hoursAgo * HOUR_MS) },
      ...row,
    });

  /** Adds results of a repository, the last one dated now. */
  async function results(name: string, ...rows: Record<string, SqlValue>[]) {
    const id = await run(1);
    for (const [index, row] of rows.entries()) {
      const created_at = ago(clock, (rows.length - 1 - index) * HOUR_MS);
      await insertResult(database.db, id, name, { created_at, ...row });
    }
  }

  return { database, clock, opened, run, results };
}
