import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareMcpServer } from '../../lib/mcp/base/server.ts';
import { catalogue } from '../../lib/mcp/catalogue.ts';
import { createServerKnowledge } from '../../lib/mcp/tool-deps.ts';
import { guardTransport } from '../../lib/mcp/transports/guarded-transport.ts';
import { MAX_ANSWER_CHARS } from '../../lib/tools/answer-budget.ts';
import { runTool } from '../../lib/tools/run-tool.ts';
import type { ToolDeps } from '../../lib/tools/tool.ts';
import { type ArchiveFolder, createArchiveFolder, makeTarball } from '../support/archives.ts';
import { everySource, type TestSource } from '../support/backup-sources.ts';
import { silentLog } from '../support/databases.ts';
import { createTestDeps } from '../support/deps.ts';
import { connectClient } from '../support/mcp.ts';
import { answerOf, createTestToolDeps, findTool } from '../support/tools.ts';
import { fillWithTwoHundredFailures, fillWithWorstCase } from '../support/worst-case.ts';

/** Every tool that reads the data source, with its largest arguments and the list that it returns. */
const mostOfAll: [tool: string, given: object, list: string][] = [
  ['get_backup_metrics', { days: 3650 }, 'history'],
  ['list_tracked_repositories', { limit: 200 }, 'data'],
  ['list_backup_runs', { limit: 100 }, 'data'],
  ['list_backup_runs', { limit: 100, has_failures: true }, 'data'],
  ['get_backup_run_details', { run_id: 3650 }, 'results'],
  ['get_execution_logs', { limit: 200, run_id: 3650 }, 'logs'],
  ['diagnose_backup_failure', {}, 'failures'],
];

type Answer = Record<string, unknown> & { next?: string; more?: string; truncated?: boolean };

describe.each(everySource)('answers from %s', (name, open) => {
  let opened: TestSource;
  let deps: ToolDeps;
  beforeAll(async () => {
    opened = await open();
    const { db } = opened.database;
    const knowledge =
      name === 'the database' ? createServerKnowledge(createTestDeps({ db })) : null;
    const system = {
      checkStorage: async () => ({
        archive_path: '/',
        total_disk_bytes: 1,
        available_disk_bytes: 1,
      }),
      checkBackend: async () => ({ status: 'ok' as const, url: 'http://localhost' }),
    };
    deps = createTestToolDeps({ backups: opened.source, knowledge, system });
  });
  afterAll(() => opened.close());

  const ask = (tool: string, given: object) => answerOf(deps, tool, given) as Promise<Answer>;

  /** Reads all items of a list by following `next`. Each answer must fit the budget and say what is missing. */
  async function readAll(tool: string, given: object, list: string): Promise<unknown[]> {
    const items: unknown[] = [];
    const passOn = tool === 'get_execution_logs' ? 'before_id' : 'cursor';
    for (let next: object = {}; ; ) {
      const answer = await ask(tool, { ...given, ...next });
      expect(JSON.stringify(answer).length).toBeLessThanOrEqual(MAX_ANSWER_CHARS);
      const page = answer[list] as unknown[];
      items.push(...page);
      if (answer.truncated !== true) {
        expect(answer).not.toHaveProperty('next');
        return items;
      }
      expect(page.length).toBeGreaterThan(0);
      if (answer.next === undefined) {
        // Only messages were cut.
        expect(answer.more).toContain('message_offset');
        return items;
      }
      expect(answer.more).toContain(passOn);
      next = { [passOn]: answer.next };
    }
  }

  describe('about 200 failures', () => {
    beforeAll(() => fillWithTwoHundredFailures(opened.database.db));

    it('group them by three errors in one answer, with the fixes once', async () => {
      const answer = await ask('diagnose_backup_failure', {});
      expect(JSON.stringify(answer).length).toBeLessThan(10_000);
      expect(answer).toMatchObject({
        message: 'run 1 completed; 200 repositories failed, with 3 different errors',
        failed_repos_count: 200,
        failures: [
          { count: 67, repository: 'organization/service-1' },
          { count: 67, repository: 'organization/service-2' },
          { count: 66, repository: 'organization/service-3' },
        ],
      });
      // The service API returns only the fixes of the latest run.
      const fixes = answer.similar_past_incidents as unknown[];
      expect(fixes).toHaveLength(name === 'the database' ? 3 : 0);
      const [first] = answer.failures as { repositories: string[]; error_logs: string[] }[];
      expect(first?.repositories).toHaveLength(20);
      expect(first?.error_logs).toHaveLength(2);
    });

    it('list them first among the results of the run, and next leads to each result once', async () => {
      const results = await readAll('get_backup_run_details', { run_id: 1 }, 'results');
      const statuses = (results as { status: string }[]).map(({ status }) => status);
      expect(statuses).toEqual([...Array(200).fill('failed'), ...Array(20).fill('completed')]);
      const ids = new Set((results as { id: number }[]).map(({ id }) => id));
      expect(ids.size).toBe(220);
    });

    it('return their logs with before_id, each once', async () => {
      const logs = await readAll('get_execution_logs', { limit: 150 }, 'logs');
      const ids = (logs as { id: number }[]).map(({ id }) => id);
      expect(ids).toEqual(Array.from({ length: 400 }, (_, index) => 400 - index));
    });
  });

  describe('in the worst case', () => {
    beforeAll(() => fillWithWorstCase(opened.database.db));

    it.each(mostOfAll)('fit the budget: %s %j', async (tool, given, list) => {
      const answer = await ask(tool, given);
      expect(JSON.stringify(answer).length).toBeLessThanOrEqual(MAX_ANSWER_CHARS);
      expect((answer[list] as unknown[]).length).toBeGreaterThan(1);
      expect(answer).toMatchObject({
        truncated: true,
        more: expect.stringContaining('call again'),
      });
    });

    it('mark each text that was cut', async () => {
      const answer = await ask('get_execution_logs', { limit: 1 });
      const [log] = answer.logs as { message: string }[];
      expect(log?.message.length).toBeLessThanOrEqual(4_000);
      expect(log?.message.length).toBeGreaterThan(3_900);
      expect(log?.message).toMatch(/… \[cut: 37\d{3} more characters\]$/);
    });

    // The rest does not depend on the source, so one is enough.
    if (name !== 'the database') return;

    it.each(mostOfAll)('fit the smaller budget of a chat: %s %j', async (tool, given) => {
      const { signal } = new AbortController();
      const options = { signal, log: silentLog, maxChars: 16_000 };
      const outcome = await runTool(findTool(tool), given, deps, options);
      if (!outcome.ok) throw new Error(outcome.message);
      expect(JSON.stringify(outcome.output).length).toBeLessThanOrEqual(16_000);
      expect(outcome.output).toHaveProperty('next');
    });

    it('lose no result of a run when next is followed', async () => {
      const results = await readAll('get_backup_run_details', { run_id: 3650 }, 'results');
      expect(new Set((results as { id: number }[]).map(({ id }) => id)).size).toBe(200);
    });

    it('lose no day of ten years when next is followed', async () => {
      const days = await readAll('get_backup_metrics', { days: 3650 }, 'history');
      expect(new Set((days as { date: string }[]).map(({ date }) => date)).size).toBe(3650);
    });

    it('fit the budget: search_backup_knowledge with all its results', async () => {
      const answer = await ask('search_backup_knowledge', { query: 'failing', limit: 20 });
      expect(JSON.stringify(answer).length).toBeLessThanOrEqual(MAX_ANSWER_CHARS);
      expect((answer.results as unknown[]).length).toBeGreaterThan(10);
    });

    it('fit the budget as prompts and resources', async () => {
      const surface = createTestDeps({ db: opened.database.db });
      const [ours, theirs] = InMemoryTransport.createLinkedPair();
      const createServer = prepareMcpServer({
        loadCatalogue: async () => catalogue,
        loadDeps: async () => deps,
        log: surface.log,
      });
      await createServer('test').connect(guardTransport(ours, surface));
      const client = await connectClient(theirs);
      for (const { name } of catalogue.prompts) {
        const { messages } = await client.getPrompt({ name });
        const text = messages.map(({ content }) => ('text' in content ? content.text : '')).join();
        expect(text.length, name).toBeGreaterThan(1_000);
        expect(text.length, name).toBeLessThanOrEqual(MAX_ANSWER_CHARS);
      }
      for (const { uri } of catalogue.resources) {
        const { contents } = await client.readResource({ uri });
        expect(JSON.stringify(contents).length, uri).toBeLessThanOrEqual(2 * MAX_ANSWER_CHARS);
        for (const content of contents) {
          expect('text' in content ? content.text.length : 0).toBeLessThanOrEqual(MAX_ANSWER_CHARS);
        }
      }
      await client.close();
    });
  });
});

describe('answers about archives', () => {
  let folder: ArchiveFolder;
  let deps: ToolDeps;
  beforeAll(async () => {
    folder = await createArchiveFolder();
    deps = createTestToolDeps({ archives: folder.reader() });
    const repository = await folder.repository('many');
    const commit = await repository.commit({ 'README.md': 'hello' });
    const refs = Array.from(
      { length: 900 },
      (_, index) => `${commit} refs/heads/${'long/'.repeat(30)}branch-${index}\n`,
    );
    await writeFile(join(repository.path, '.git', 'packed-refs'), refs.join(''));
    await folder.bundle('acme__refs.bundle', repository);
    const files = Array.from({ length: 200 }, (_, index): [{ name: string }] => [
      { name: `${'folder/'.repeat(300)}file-${index}` },
    ]);
    await folder.write('acme__files.tar.gz', await makeTarball(...files));
  });
  afterAll(() => folder.remove());

  it.each([
    ['verify_archive_integrity', { repo_name: 'acme/refs' }, 'refs', /git bundle list-heads/],
    ['inspect_archive_contents', { repo_name: 'acme/files', limit: 200 }, 'entries', /prefix/],
  ])('%s returns as much as fits, and says how to get the rest', async (tool, given, list, how) => {
    const answer = (await answerOf(deps, tool, given)) as Answer;
    const { length } = JSON.stringify(answer);
    expect(length).toBeLessThanOrEqual(MAX_ANSWER_CHARS);
    expect(length).toBeGreaterThan(MAX_ANSWER_CHARS / 2);
    expect((answer[list] as unknown[]).length).toBeGreaterThan(10);
    expect(answer).toMatchObject({ truncated: true, more: expect.stringMatching(how) });
  });
});
