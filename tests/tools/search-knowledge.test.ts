import { beforeAll, describe, expect, it } from 'vitest';
import { createServerKnowledge } from '../../lib/mcp/tool-deps.ts';
import type { ToolDeps } from '../../lib/tools/tool.ts';
import { createTestDeps } from '../support/deps.ts';
import { useDatabase } from '../support/hooks.ts';
import { insert, insertFix, insertLog, insertResult, insertRun } from '../support/records.ts';
import { answerOf, createTestToolDeps, faultOf } from '../support/tools.ts';

const database = useDatabase();
let deps: ToolDeps;

beforeAll(async () => {
  const { db } = database;
  deps = createTestToolDeps({ knowledge: createServerKnowledge(createTestDeps({ db })) });
  const run = await insertRun(db);
  await insertLog(db, { message: 'read ECONNRESET', repository: 'owner/a', level: 'error' });
  await insertResult(db, run, 'owner/a', { status: 'failed', error_message: 'ECONNRESET again' });
  await insertFix(db, [run], { title: 'Raise the timeout', description: 'against ECONNRESET' });
  await insert(db, 'chat_messages', {
    username: 'somebody',
    role: 'assistant',
    content: 'The proxy sends ECONNRESET.',
    request_id: 'r',
    status: 'completed',
  });
});

const search = (given: object) => answerOf(deps, 'search_backup_knowledge', given);

describe('search_backup_knowledge', () => {
  it('finds logs, backup errors, fixes and chat investigations', async () => {
    const answer = await search({ query: 'econnreset' });
    const results = answer.results as { source_type: string; content: string }[];
    expect(results.map(({ source_type }) => source_type).sort()).toEqual([
      'backup_fix',
      'backup_result',
      'execution_log',
      'investigation',
    ]);
    for (const { content } of results) expect(content).toContain('ECONNRESET');
    expect(answer.returned).toBe(4);
  });

  it('returns at most as many results as requested', async () => {
    expect(await search({ query: 'ECONNRESET', limit: '1' })).toMatchObject({ returned: 1 });
  });

  it('reports that vectors were not used, and why', async () => {
    expect(await search({ query: 'nothing of the kind' })).toEqual({
      results: [],
      returned: 0,
      degraded: true,
      degraded_reason: expect.any(String),
      nothing_found: expect.stringMatching(/^records exist/),
    });
  });

  it.each(["' OR 1=1 --", '"unclosed', '& | !', '\ud800', 'x'.repeat(1_000)])(
    'accepts any text: %j',
    async (query) => {
      expect(await search({ query })).toMatchObject({ returned: 0 });
    },
  );

  it.each([' ', 'x'.repeat(1_001), 'a\0b'])('rejects an invalid query (%#)', async (query) => {
    expect(await faultOf(deps, 'search_backup_knowledge', { query })).toMatch(/^invalid arg/);
  });
});
