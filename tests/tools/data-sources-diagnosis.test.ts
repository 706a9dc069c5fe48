import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ToolDeps } from '../../lib/tools/tool.ts';
import { everySource, type TestSource } from '../support/backup-sources.ts';
import { empty, insertFix, insertLog, insertResult, insertRun, sql } from '../support/records.ts';
import { answerOf, createTestToolDeps, faultOf } from '../support/tools.ts';

// The second half of the contract of data-sources.test.ts: logs and what failed.

interface Diagnosis {
  run_error_logs: string[];
  failures: {
    repository: string;
    repositories: string[];
    error_message: string;
    error_logs: string[];
  }[];
  [field: string]: unknown;
}

describe.each(everySource)('from %s', (_name, open) => {
  let opened: TestSource;
  let deps: ToolDeps;
  const db = () => opened.database.db;

  beforeAll(async () => {
    opened = await open();
    deps = createTestToolDeps({ backups: opened.source });
  });
  afterAll(() => opened.close());
  beforeEach(() => empty(db()));

  describe('get_execution_logs', () => {
    const logs = async (given: object) => {
      const answer = await answerOf(deps, 'get_execution_logs', given);
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
      expect(await answerOf(deps, 'get_execution_logs')).toEqual({
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

    it('before_id leads to older lines in the order of time, of any filter', async () => {
      const times = ['05', '03', '04', '01', '02'];
      const ids: number[] = [];
      for (const [n, second] of times.entries()) {
        const created_at = `2026-03-01T00:00:${second}Z`;
        const line = { run_id: 7, repository: 'owner/a', level: 'error', message: second };
        ids[n] = await insertLog(db(), { ...line, created_at });
      }
      await insertLog(db(), { message: 'other', created_at: '2026-03-01T00:00:00Z' });
      for (const filter of [
        { run_id: 7 },
        { repository: 'owner/A' },
        { run_id: 7, repository: 'owner/a', level: 'error' },
      ]) {
        const older = await logs({ ...filter, before_id: ids[2], limit: 2 });
        expect(older).toEqual({ messages: ['03', '02'], truncated: true });
        const rest = await logs({ ...filter, before_id: ids[4] });
        expect(rest).toEqual({ messages: ['01'], truncated: false });
      }
      const { messages } = await logs({ before_id: ids[3] });
      expect(messages).toEqual(['other']);
      expect(await faultOf(deps, 'get_execution_logs', { before_id: 99 })).toMatch(
        /^log 99 does not exist: before_id must/,
      );
    });

    it('since leaves out what is older', async () => {
      for (const day of ['01', '02', '03']) {
        const created_at = `2026-03-${day}T00:00:00Z`;
        await insertLog(db(), { repository: 'owner/a', message: day, created_at });
      }
      const since = async (moment: string, filter: object = {}) =>
        (await logs({ since: moment, ...filter })).messages.join(' ');
      expect(await since('2026-03-02')).toBe('03 02');
      expect(await since('2026-03-02T00:00:00.000001Z')).toBe('03 02');
      expect(await since('2026-03-02T00:00:00.001Z')).toBe('03');
      expect(await since('2026-03-02T01:00:00+02:00', { repository: 'owner/a' })).toBe('03 02');
      expect(await since('2026-03-04')).toBe('');
      for (const wrong of ['yesterday', '2026-13-01', '2026-03-01T', '0'.repeat(10_000)]) {
        expect(await faultOf(deps, 'get_execution_logs', { since: wrong })).toMatch(
          /since: must be a date or a time in ISO 8601/,
        );
      }
    });

    it('names the nearest repositories where there is no log of an unknown one', async () => {
      const run = await insertRun(db());
      await insertResult(db(), run, 'Acme/Widgets');
      const note = async (repository: string) =>
        (await answerOf(deps, 'get_execution_logs', { repository })).note;
      expect(await note('acme/wigdets')).toBe(
        'no repository "acme/wigdets" is tracked; did you mean Acme/Widgets? list_tracked_repositories lists those that are',
      );
      expect(await note('acme/widgets')).toBeUndefined();
      expect(await note('zzz')).toBe(
        'no repository "zzz" is tracked; list_tracked_repositories lists those that are',
      );
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
      (await answerOf(deps, 'diagnose_backup_failure', given)) as unknown as Diagnosis;

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
        message: `run ${run} completed; 2 repositories failed, with 2 different errors`,
        run_id: run,
        run_status: 'completed',
        similar_past_incidents: [],
        failed_at: '2026-03-02T01:00:00.000000Z',
        run_error: '2 repositories failed',
        run_error_logs: ['of the run'],
        failed_repos_count: 2,
        failures: [
          {
            repository: 'owner/a',
            count: 1,
            repositories: ['owner/a'],
            error_message: 'Authentication failed',
            error_logs: ['second', 'first'],
            last_successful_commit: 'c0ffee',
            recovered: 0,
          },
          {
            repository: 'owner/large',
            count: 1,
            repositories: ['owner/large'],
            error_message: '',
            error_logs: [],
            last_successful_commit: null,
            recovered: 0,
          },
        ],
      });
      expect(recommended_actions).toContainEqual(expect.stringContaining('auth status --check'));
      expect(recommended_actions).toContainEqual(expect.stringContaining('100 MiB'));
    });

    it('says how many failures it did not read', async () => {
      const run = await insertRun(db(), { status: 'failed', failed: 2_003 });
      await sql(
        db(),
        `INSERT INTO backup_results (run_id, repo_full_name, status, error_message)
         SELECT ${run}, 'owner/' || n, 'failed', 'not reached' FROM generate_series(1, 2003) AS n`,
      );
      expect(await diagnose()).toMatchObject({
        failed_repos_count: 2_003,
        failures: [{ count: 2_000 }],
        truncated: true,
        more: expect.stringContaining('3 further repositories'),
      });
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
      expect(await faultOf(deps, 'diagnose_backup_failure')).toMatch(
        /^no failed backup run was found/,
      );
      await insertRun(db(), { status: 'completed' });
      expect(await faultOf(deps, 'diagnose_backup_failure')).toMatch(
        /^no failed backup run was found/,
      );
      expect(await faultOf(deps, 'diagnose_backup_failure', { run_id: 99 })).toBe(
        'backup run 99 does not exist: list_backup_runs shows which do',
      );
    });

    it('says which repositories were backed up since', async () => {
      const run = await insertRun(db(), { status: 'failed', failed: 1 });
      const at = (minute: number) => ({ created_at: `2026-03-02T00:0${minute}:00Z` });
      await insertResult(db(), run, 'owner/a', { status: 'failed', ...at(1) });
      const later = await insertRun(db(), { successful: 1 });
      await insertResult(db(), later, 'owner/a', { commit_hash: 'new', ...at(2) });
      const { failures, recommended_actions } = await diagnose();
      expect(failures).toMatchObject([{ last_successful_commit: 'new', recovered: 1 }]);
      expect(recommended_actions).toContainEqual(
        expect.stringMatching(/^1 of the failed repositories/),
      );
    });

    it('gives the fixes of the latest run as past incidents, newest first', async () => {
      const run = await insertRun(db(), { status: 'failed' });
      await insertResult(db(), run, 'owner/a', { status: 'failed' });
      for (const [n, title] of ['one', 'two', 'three', 'four'].entries()) {
        await insertFix(db(), [run], { title, created_at: `2026-03-0${n + 1}T00:00:00Z` });
      }
      expect(await diagnose()).toMatchObject({
        similar_past_incidents: [
          { run_id: run, resolution: 'four' },
          { run_id: run, resolution: 'three' },
          { run_id: run, resolution: 'two' },
        ],
      });
    });

    it('groups failures whose errors differ in numbers, hashes and the repository alone', async () => {
      const run = await insertRun(db(), { status: 'completed', failed: 5 });
      const errors = [
        ['owner/one', 'fatal: repository owner/one not found (request 17, id 0123456789abcdef)'],
        ['owner/lonely', 'No space left on device'],
        ['owner/two', 'Fatal: repository owner/two not found (request 4, id fedcba9876543210)'],
        ['other/three', 'fatal: repository other/three not found (request 5, id 0f0f0f0f0f0f0f0f)'],
      ] as const;
      for (const [repository, error_message] of errors) {
        await insertResult(db(), run, repository, { status: 'failed', error_message });
      }
      // The same text, but another kind of failure.
      const error_message = errors[1][1];
      await insertResult(db(), run, 'owner/large', { status: 'too_large', error_message });
      expect((await diagnose()).failures).toMatchObject([
        {
          repository: 'owner/one',
          count: 3,
          repositories: ['owner/one', 'owner/two', 'other/three'],
          error_message: errors[0][1],
        },
        { repository: 'owner/lonely', count: 1 },
        { repository: 'owner/large', count: 1 },
      ]);
    });

    it('bounds names, errors, logs and their length, and cursor leads to the rest', async () => {
      const run = await insertRun(db(), { status: 'failed', failed: 60 });
      const letters = 'chr(97 + n / 26) || chr(97 + n % 26)';
      await sql(
        db(),
        `INSERT INTO backup_results (run_id, repo_full_name, status, error_message)
         SELECT ${run}, 'owner/' || n, 'failed', ${letters} || repeat('x', 5000) FROM generate_series(1, 30) AS n
         UNION ALL
         SELECT ${run}, 'owner/' || n, 'failed', 'all the same' FROM generate_series(31, 60) AS n`,
      );
      await sql(
        db(),
        `INSERT INTO execution_logs (run_id, repository, level, message, created_at)
         SELECT ${run}, 'owner/31', 'error', n || repeat('y', 5000),
           timestamptz '2026-03-01Z' + n * interval '1 second' FROM generate_series(1, 30) AS n`,
      );
      const packet = await diagnose();
      expect(packet).toMatchObject({
        failed_repos_count: 60,
        truncated: true,
        more: '11 further errors: call again with the same arguments and cursor "20"',
        next: '20',
      });
      const [first, second] = packet.failures;
      expect(packet.failures).toHaveLength(20);
      expect(first).toMatchObject({ repository: 'owner/31', count: 30 });
      expect(first?.repositories).toHaveLength(20);
      expect(first?.error_logs.map((text) => Number.parseInt(text, 10))).toEqual([
        30, 29, 28, 27, 26,
      ]);
      expect(first?.error_logs[0]).toMatch(/^30y{400,}… \[cut: \d+ more characters\]$/);
      expect(second?.error_message).toMatch(/^abx+… \[cut: \d+ more characters\]$/);
      const rest = await diagnose({ cursor: packet.next });
      expect(rest.failures).toHaveLength(11);
      expect(rest).not.toHaveProperty('truncated');
    });

    it.each([
      [{ status: 'completed', successful: 2 }, 'completed, with no failed repository'],
      [{ status: 'running' }, 'is running; no repository has failed so far'],
      [{ status: 'failed', error_message: 'no room' }, 'failed as a whole'],
      [{ status: 'completed', failed: 2 }, 'counts 2 repositories that failed'],
    ])('says what became of a run without a failed repository: %j', async (row, said) => {
      const run = await insertRun(db(), row);
      const packet = await diagnose({ run_id: run });
      expect(packet.message).toContain(said);
      const isGood = row.status !== 'failed' && !('failed' in row);
      expect(packet).toMatchObject({ run_id: run, run_status: row.status, failures: [] });
      expect(packet.failed_at === null).toBe(isGood);
      expect((packet.recommended_actions as string[]).length === 0).toBe(isGood);
    });
  });
});
