import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ToolHandles } from '../../lib/tools/index.ts';
import { everySource, type TestSource } from '../support/backup-sources.ts';
import { empty, insertFix, insertLog, insertResult, insertRun, sql } from '../support/records.ts';
import { answerOf, createTestHandles, faultOf } from '../support/tools.ts';

// The second half of the contract of data-sources.test.ts: logs and what failed.

interface Diagnosis {
  run_error_logs: string[];
  failures: { repository: string; error_logs: string[] }[];
  [field: string]: unknown;
}

describe.each(everySource)('from %s', (_name, open) => {
  let opened: TestSource;
  let handles: ToolHandles;
  const db = () => opened.database.db;

  beforeAll(async () => {
    opened = await open();
    handles = createTestHandles({ backups: opened.source });
  });
  afterAll(() => opened.close());
  beforeEach(() => empty(db()));

  describe('get_execution_logs', () => {
    const logs = async (given: object) => {
      const answer = await answerOf(handles, 'get_execution_logs', given);
      const messages = (answer.logs as { message: string }[]).map(({ message }) => message);
      expect(answer.returned).toBe(messages.length);
      return { messages, truncated: answer.truncated };
    };

    it('answers every field of the newest logs', async () => {
      const id = await insertLog(db(), {
        level: 'WARN',
        message: 'slow',
        repository: 'owner/a',
        run_id: 7,
        created_at: '2026-03-01T00:00:00.123456Z',
      });
      expect(await answerOf(handles, 'get_execution_logs')).toEqual({
        logs: [
          {
            id,
            created_at: '2026-03-01T00:00:00.123456Z',
            level: 'WARN',
            message: 'slow',
            repository: 'owner/a',
            run_id: 7,
          },
        ],
        returned: 1,
        truncated: false,
      });
    });

    it('filters by run, repository and level, in any combination', async () => {
      const run = await insertRun(db());
      const other = await insertRun(db());
      const lines = [
        [run, 'Owner/A', 'error'],
        [run, 'Owner/A', 'info'],
        [run, 'owner/ab', 'error'],
        [run, null, 'error'],
        [other, 'owner/a', 'ERROR'],
        [other, 'owner/a', 'notice'],
      ] as const;
      for (const [n, [run_id, repository, level]] of lines.entries()) {
        const created_at = `2026-03-01T00:00:0${n}Z`;
        await insertLog(db(), { run_id, repository, level, message: `${n}`, created_at });
      }
      const messages = async (given: object) => (await logs(given)).messages.join('');
      expect(await messages({})).toBe('543210');
      expect(await messages({ run_id: run })).toBe('3210');
      expect(await messages({ level: 'Error' })).toBe('4320');
      expect(await messages({ run_id: run, level: 'ERROR' })).toBe('320');
      expect(await messages({ repository: 'owner/A' })).toBe('5410');
      expect(await messages({ repository: 'OWNER/a', level: 'error' })).toBe('40');
      expect(await messages({ run_id: run, repository: 'owner/a' })).toBe('10');
      expect(await messages({ run_id: run, repository: 'owner/a', level: 'info' })).toBe('1');
      expect(await messages({ repository: 'owner/%' })).toBe('');
      await insertLog(db(), { repository: 'Öwner/Ä', message: 'umlauts' });
      expect(await messages({ repository: 'Öwner/Ä' })).toBe('umlauts');
      expect(await messages({ run_id: 999 })).toBe('');
    });

    it.each([{}, { repository: 'owner/a' }, { run_id: 3 }, { run_id: 3, repository: 'owner/a' }])(
      'says that there are more, and not when there are exactly as many: %j',
      async (filter) => {
        for (let n = 0; n < 3; n++) {
          const created_at = `2026-03-01T00:00:0${n}Z`;
          const level = n === 0 ? 'info' : 'error';
          const row = { run_id: 3, repository: 'owner/a', message: `${n}`, level, created_at };
          await insertLog(db(), row);
        }
        expect(await logs({ ...filter, limit: 2 })).toEqual({
          messages: ['2', '1'],
          truncated: true,
        });
        expect(await logs({ ...filter, limit: 3 })).toEqual({
          messages: ['2', '1', '0'],
          truncated: false,
        });
      },
    );
  });

  describe('diagnose_backup_failure', () => {
    const diagnose = async (given: object = {}) =>
      (await answerOf(handles, 'diagnose_backup_failure', given)) as unknown as Diagnosis;

    it('collects the failed repositories of the latest failed run', async () => {
      const good = await insertRun(db(), { successful: 2, started_at: '2026-03-01T00:00:00Z' });
      const success = { commit_hash: 'c0ffee', created_at: '2026-03-01T00:00:01Z' };
      await insertResult(db(), good, 'owner/a', success);
      const run = await insertRun(db(), {
        status: 'completed',
        failed: 2,
        started_at: '2026-03-02T00:00:00Z',
        completed_at: '2026-03-02T01:00:00Z',
        error_message: '2 repositories failed',
      });
      const fault = { status: 'failed', error_message: 'Authentication failed' };
      await insertResult(db(), run, 'owner/a', { ...fault, created_at: '2026-03-02T00:01:00Z' });
      await insertResult(db(), run, 'owner/large', { status: 'too_large' });
      await insertResult(db(), run, 'owner/fine', { status: 'completed' });
      await insertRun(db(), { status: 'completed', started_at: '2026-03-03T00:00:00Z' });
      const line = { run_id: run, level: 'error', repository: 'Owner/A' };
      await insertLog(db(), { ...line, message: 'first', created_at: '2026-03-02T00:00:01Z' });
      await insertLog(db(), { ...line, message: 'second', created_at: '2026-03-02T00:00:02Z' });
      await insertLog(db(), { ...line, message: 'no error', level: 'info' });
      await insertLog(db(), { ...line, message: 'another run', run_id: good });
      await insertLog(db(), { ...line, message: 'of the run', repository: null });
      const { note, recommended_actions, ...packet } = await diagnose();
      expect(packet).toEqual({
        run_id: run,
        failed_at: '2026-03-02T01:00:00.000000Z',
        run_error: '2 repositories failed',
        run_error_logs: ['of the run'],
        failed_repos_count: 2,
        failures: [
          {
            repository: 'owner/a',
            error_message: 'Authentication failed',
            error_logs: ['second', 'first'],
            last_successful_commit: 'c0ffee',
            similar_past_incidents: [],
          },
          {
            repository: 'owner/large',
            error_message: '',
            error_logs: [],
            last_successful_commit: null,
            similar_past_incidents: [],
          },
        ],
      });
      expect(recommended_actions).toContainEqual(expect.stringContaining('auth status --check'));
      expect(recommended_actions).toContainEqual(expect.stringContaining('100 MiB'));
    });

    it('looks at the run that is asked for', async () => {
      const asked = await insertRun(db(), { status: 'failed', started_at: '2026-03-01T00:00:00Z' });
      await insertRun(db(), { status: 'failed', started_at: '2026-03-02T00:00:00Z' });
      expect(await diagnose({ run_id: asked })).toMatchObject({
        run_id: asked,
        failed_at: '2026-03-01T00:00:00.000000Z',
        failed_repos_count: 0,
        failures: [],
      });
    });

    it('reports that there is no failed run, and no such run', async () => {
      expect(await faultOf(handles, 'diagnose_backup_failure')).toBe(
        'no failed backup run was found',
      );
      await insertRun(db(), { status: 'completed' });
      expect(await faultOf(handles, 'diagnose_backup_failure')).toBe(
        'no failed backup run was found',
      );
      expect(await faultOf(handles, 'diagnose_backup_failure', { run_id: 99 })).toBe(
        'backup run 99 does not exist',
      );
    });

    it('tells which repositories were backed up since', async () => {
      const run = await insertRun(db(), { status: 'failed', failed: 1 });
      const at = (minute: number) => ({ created_at: `2026-03-02T00:0${minute}:00Z` });
      await insertResult(db(), run, 'owner/a', { status: 'failed', ...at(1) });
      const later = await insertRun(db(), { successful: 1 });
      await insertResult(db(), later, 'owner/a', { commit_hash: 'new', ...at(2) });
      const { failures, recommended_actions } = await diagnose();
      expect(failures).toMatchObject([{ last_successful_commit: 'new' }]);
      expect(recommended_actions).toContainEqual(expect.stringMatching(/^1 of the repositories/));
    });

    it('gives the fixes of the latest run as past incidents, newest first', async () => {
      const run = await insertRun(db(), { status: 'failed' });
      await insertResult(db(), run, 'owner/a', { status: 'failed' });
      for (const [n, title] of ['one', 'two', 'three', 'four'].entries()) {
        await insertFix(db(), [run], { title, created_at: `2026-03-0${n + 1}T00:00:00Z` });
      }
      expect(await diagnose()).toMatchObject({
        failures: [
          {
            similar_past_incidents: [
              { run_id: run, resolution: 'four' },
              { run_id: run, resolution: 'three' },
              { run_id: run, resolution: 'two' },
            ],
          },
        ],
      });
    });

    it('bounds repositories, logs and their length, and says so', async () => {
      const run = await insertRun(db(), { status: 'failed', failed: 60 });
      await sql(
        db(),
        `INSERT INTO backup_results (run_id, repo_full_name, status, error_message)
         SELECT ${run}, 'owner/' || n, 'failed', repeat('x', 5000) FROM generate_series(1, 60) AS n`,
      );
      await sql(
        db(),
        `INSERT INTO execution_logs (run_id, repository, level, message, created_at)
         SELECT ${run}, 'owner/' || (1 + n % 2), 'error', n || repeat('y', 5000),
           timestamptz '2026-03-01Z' + n * interval '1 second' FROM generate_series(1, 30) AS n`,
      );
      const packet = await diagnose();
      expect(packet).toMatchObject({ failed_repos_count: 60, truncated: true });
      expect(packet.failures).toHaveLength(50);
      const [first] = packet.failures;
      expect(first).toMatchObject({ repository: 'owner/1', error_message: 'x'.repeat(1_000) });
      expect(first?.error_logs.map((text) => Number.parseInt(text, 10))).toEqual([
        30, 28, 26, 24, 22, 20, 18, 16, 14, 12,
      ]);
      expect(first?.error_logs[0]).toHaveLength(1_000);
    });
  });
});
