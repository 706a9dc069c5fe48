import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { fitAnswer, fitItems, MAX_ANSWER_CHARS } from '../../lib/tools/answer-budget.ts';
import { runTool } from '../../lib/tools/run-tool.ts';
import { readTool } from '../../lib/tools/tool.ts';
import { setUpSource } from '../support/backup-sources.ts';
import { silentLog } from '../support/databases.ts';
import { insertLog, insertRun, sql } from '../support/records.ts';
import { answerOf } from '../support/tools.ts';

// Records of other programs may be of any size, but answers are limited.

const source = setUpSource();

it('get_execution_logs returns a message of 4,000 characters in full, and cuts and marks a longer one', async () => {
  const longest = 'x'.repeat(4_000);
  await insertLog(source.db, { message: longest, created_at: '2026-03-02T00:00:00Z' });
  await insertLog(source.db, { message: `${longest}x`, created_at: '2026-03-01T00:00:00Z' });
  expect(await answerOf(source.deps, 'get_execution_logs')).toMatchObject({
    logs: [{ message: longest }, { message: `${'x'.repeat(3_960)}… [cut: 41 more characters]` }],
  });
});

it('get_execution_logs says which messages it cut, and how to read all of one', async () => {
  const secret = `ghp_${'A1b2'.repeat(9)}`;
  const message = Array.from({ length: 9_000 }, (_, n) => `line ${n} ${n % 7 ? '' : secret}`).join(
    '\n',
  );
  const shown = message.replaceAll(secret, '[redacted]');
  await insertLog(source.db, { message: 'newer', created_at: '2026-04-02T00:00:00Z' });
  await insertLog(source.db, { message, created_at: '2026-04-01T00:00:00Z' });
  const given = { since: '2026-04-01T00:00:00Z' };
  const answer = await answerOf(source.deps, 'get_execution_logs', given);
  expect(answer).toMatchObject({ returned: 2, truncated: true });
  expect(answer).not.toHaveProperty('next');
  let read = '';
  for (let more = `${answer.more}`; ; ) {
    const [, before, offset] =
      /limit 1(?:, before_id (\d+))? and message_offset (\d+)/.exec(more) ?? [];
    if (read === '') read = shown.slice(0, Number(offset));
    const part = await answerOf(source.deps, 'get_execution_logs', {
      ...{ ...given, limit: 1, message_offset: Number(offset) },
      before_id: Number(before ?? (answer.logs as { id: number }[])[0]?.id),
    });
    const [line] = part.logs as { message: string }[];
    read += line?.message.replace(/… \[cut: \d+ more characters\]$/, '');
    if (part.truncated !== true) break;
    more = `${part.more}`;
  }
  expect(read).toBe(shown);
});

it('get_backup_run_details cuts the results when the answer is full, and says so', async () => {
  const run = await insertRun(source.db);
  await sql(
    source.db,
    `INSERT INTO backup_results (run_id, repo_full_name, error_message)
     SELECT ${run}, 'owner/' || n, repeat('e', 4001) FROM generate_series(1, 5) AS n`,
  );
  const whole = await answerOf(source.deps, 'get_backup_run_details', { run_id: run });
  expect(whole).not.toHaveProperty('truncated');
  const [first] = whole.results as { error_message: string }[];
  expect(first?.error_message).toMatch(/^e{3960}… \[cut: 41 more characters\]$/);
  await sql(
    source.db,
    `INSERT INTO backup_results (run_id, repo_full_name, error_message)
     SELECT ${run}, 'owner/' || n, repeat('e', 4001) FROM generate_series(6, 1000) AS n`,
  );
  const cut = await answerOf(source.deps, 'get_backup_run_details', { run_id: run });
  const { length } = cut.results as unknown[];
  expect(cut).toMatchObject({
    truncated: true,
    more: `${1_000 - length} further results: call again with the same arguments and cursor "${length}"`,
    next: `${length}`,
  });
});

it('get_execution_logs stays within its limit even if masks are longer than secrets', async () => {
  await sql(
    source.db,
    `INSERT INTO execution_logs (message) SELECT repeat('pwd=Zq7x ', 20) FROM generate_series(1, 200)`,
  );
  const answer = await answerOf(source.deps, 'get_execution_logs', { limit: 200 });
  expect(JSON.stringify(answer)).not.toContain('Zq7x');
  expect(JSON.stringify(answer).length).toBeLessThanOrEqual(MAX_ANSWER_CHARS);
  expect((answer.logs as unknown[]).length).toBeGreaterThan(20);
  expect(answer).toMatchObject({ truncated: true, next: expect.any(String) });
});

describe('the final check of every answer', () => {
  const run = async (text: string, more: number[] = []) => {
    const tool = readTool({
      name: 'a_tool',
      title: 'A tool',
      description: 'Answers with what a test wants.',
      input: z.strictObject({}),
      output: z.object({ text: z.string(), numbers: z.array(z.number()) }),
      handler: () => ({ text, numbers: more }),
    });
    const { signal } = new AbortController();
    return runTool(tool, {}, source.deps, { signal, log: silentLog });
  };

  it('does not change an answer that fits', async () => {
    const text = 'x'.repeat(MAX_ANSWER_CHARS - 30);
    expect(await run(text)).toEqual({ ok: true, output: { text, numbers: [] } });
  });

  it.each(['x', '\u0001', '"', '😀'])('cuts a text of a million %j', async (sign) => {
    const outcome = await run(sign.repeat(1_000_000));
    if (!outcome.ok) throw new Error(outcome.message);
    expect(JSON.stringify(outcome.output).length).toBeLessThanOrEqual(MAX_ANSWER_CHARS);
    expect(outcome.output.text).toMatch(/… \[cut: \d{6,7} more characters\]$/);
    expect((outcome.output.text as string).isWellFormed()).toBe(true);
  });

  it('rejects an answer without text to cut, and says what to do', async () => {
    const outcome = await run('', Array(30_000).fill(1));
    expect(outcome).toMatchObject({
      ok: false,
      message: expect.stringContaining('ask for less, with a smaller limit'),
    });
  });
});

describe('fitItems', () => {
  const items = (count: number, length: number) =>
    Array.from({ length: count }, (_, id) => ({ id, text: 'x'.repeat(length) }));

  it('keeps all items, with shorter texts if that is enough', () => {
    expect(fitItems(items(5, 900), 10_000)).toEqual(items(5, 900));
    const shortened = fitItems(items(12, 900), 10_000);
    expect(shortened).toHaveLength(12);
    expect(shortened[0]?.text).toMatch(/^x+… \[cut: 440 more characters\]$/);
  });

  it('otherwise keeps as many items as fit', () => {
    const fitting = fitItems(items(100, 400), 10_000);
    expect(fitting.map(({ id }) => id)).toEqual([...fitting.keys()]);
    expect(JSON.stringify(fitting).length).toBeGreaterThan(9_000);
    expect(JSON.stringify(fitting).length).toBeLessThanOrEqual(10_000);
  });

  it('keeps at least one item', () => {
    expect(fitItems(items(3, 5_000), 10)).toHaveLength(1);
    expect(fitItems([], 10)).toEqual([]);
  });

  it('does not cut texts so short that redaction misses a cut secret', () => {
    const [cut] = fitAnswer(items(1, 10_000), 700);
    expect(cut?.text.length).toBeGreaterThan(250);
  });
});
