import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { ToolHandles } from '../../lib/tools/index.ts';
import { openDatabaseSource, type TestSource } from '../support/backup-sources.ts';
import { empty, insertLog, insertResult, insertRun, sql } from '../support/records.ts';
import { answerOf, createTestHandles } from '../support/tools.ts';

// What other writers stored may be of any size; answers are not.

let opened: TestSource;
let handles: ToolHandles;
const db = () => opened.database.db;

beforeAll(async () => {
  opened = await openDatabaseSource();
  handles = createTestHandles({ backups: opened.source });
});
afterAll(() => opened.close());
beforeEach(() => empty(db()));

it('a log line of 4,000 characters comes whole, a longer one cut', async () => {
  const longest = 'x'.repeat(4_000);
  await insertLog(db(), { message: longest, created_at: '2026-03-02T00:00:00Z' });
  await insertLog(db(), { message: `${longest}x`, created_at: '2026-03-01T00:00:00Z' });
  expect(await answerOf(handles, 'get_execution_logs')).toMatchObject({
    logs: [{ message: longest }, { message: `${'x'.repeat(3_999)}…` }],
  });
});

it('a text is never cut inside a character', async () => {
  await insertLog(db(), { message: `${'x'.repeat(3_998)}😀😀` });
  const { logs } = await answerOf(handles, 'get_execution_logs');
  expect((logs as { message: string }[])[0]?.message).toBe(`${'x'.repeat(3_998)}\ufffd…`);
});

it('of more than 1,000 results the first come, and the answer says that it was cut', async () => {
  const run = await insertRun(db());
  const add = (count: number) =>
    sql(
      db(),
      `INSERT INTO backup_results (run_id, repo_full_name, error_message)
       SELECT ${run}, 'owner/' || n, repeat('e', 4001) FROM generate_series(1, ${count}) AS n`,
    );
  await add(1_000);
  const whole = await answerOf(handles, 'get_backup_run_details', { run_id: run });
  expect(whole).not.toHaveProperty('truncated');
  expect((whole.results as { error_message: string }[])[0]?.error_message).toHaveLength(4_000);
  await insertResult(db(), run, 'owner/last');
  const cut = await answerOf(handles, 'get_backup_run_details', { run_id: run });
  expect(cut).toMatchObject({ truncated: true });
  expect(cut.results).toEqual(whole.results);
});
