import { describe, expect, it } from 'vitest';
import { everySource, setUpSource } from '../support/backup-sources.ts';
import { insert, insertFix, insertLog, insertResult, insertRun, sql } from '../support/records.ts';
import { answerOf, faultOf } from '../support/tools.ts';

// The contract of data-sources.test.ts for failures.

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

describe.each(everySource)('the tools over %s', (_name, open) => {
  const source = setUpSource(open);

  describe('diagnose_backup_failure', () => {
    const diagnose = async (given: object = {}) =>
      (await answerOf(source.deps, 'diagnose_backup_failure', given)) as unknown as Diagnosis;

    it('collects the failed repositories of the latest failed run', async () => {
      const good = await insertRun(source.db, {
        successful: 2,
        started_at: '2026-03-01T00:00:00Z',
      });
      const success = { commit_hash: 'c0ffee', created_at: '2026-03-01T00:00:01Z' };
      await insertResult(source.db, good, 'owner/a', success);
      const run = await insertRun(source.db, {
        status: 'completed',
        failed: 2,
        started_at: '2026-03-02T00:00:00Z',
        completed_at: '2026-03-02T01:00:00Z',
        error_message: '2 repositories failed',
      });
      const fault = { status: 'failed', error_message: 'Authentication failed' };
      await insertResult(source.db, run, 'owner/a', {
        ...fault,
        created_at: '2026-03-02T00:01:00Z',
      });
      await insertResult(source.db, run, 'owner/large', { status: 'too_large' });
      await insertResult(source.db, run, 'owner/fine', { status: 'completed' });
      await insertRun(source.db, { status: 'completed', started_at: '2026-03-03T00:00:00Z' });
      const line = { run_id: run, level: 'error', repository: 'Owner/A' };
      await insertLog(source.db, { ...line, message: 'first', created_at: '2026-03-02T00:00:01Z' });
      await insertLog(source.db, {
        ...line,
        message: 'second',
        created_at: '2026-03-02T00:00:02Z',
      });
      await insertLog(source.db, { ...line, message: 'no error', level: 'info' });
      await insertLog(source.db, { ...line, message: 'another run', run_id: good });
      await insertLog(source.db, { ...line, message: 'of the run', repository: null });
      await insert(source.db, 'incidents', {
        ...{ rule: 'run_failed', summary: 'it failed', opened_at: '2026-03-02T00:00:00Z' },
      });
      await sql(
        source.db,
        "INSERT INTO incident_repositories (incident_id, repository_name) VALUES (1, 'owner/a')",
      );
      const { note, recommended_actions, ...packet } = await diagnose();
      expect(packet).toEqual({
        open_incidents: [
          {
            ...{
              id: 1,
              rule: 'run_failed',
              subject: '',
              severity: 'critical',
              summary: 'it failed',
            },
            advice: expect.stringContaining('`npm run worker -- run …`'),
            ...{ repository_count: 1, repositories: ['owner/a'] },
            ...{ opened_at: '2026-03-02T00:00:00.000000Z', acknowledged: false },
          },
        ],
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

    it('says how many failures were not read', async () => {
      const run = await insertRun(source.db, { status: 'failed', failed: 2_003 });
      await sql(
        source.db,
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

    it('diagnoses the requested run', async () => {
      const asked = await insertRun(source.db, {
        status: 'failed',
        started_at: '2026-03-01T00:00:00Z',
      });
      await insertRun(source.db, { status: 'failed', started_at: '2026-03-02T00:00:00Z' });
      expect(await diagnose({ run_id: asked })).toMatchObject({
        run_id: asked,
        failed_at: '2026-03-01T00:00:00.000000Z',
        failed_repos_count: 0,
        failures: [],
      });
    });

    it('reports that there is no failed run, or no such run', async () => {
      expect(await faultOf(source.deps, 'diagnose_backup_failure')).toMatch(
        /^no failed backup run was found/,
      );
      await insertRun(source.db, { status: 'completed' });
      expect(await faultOf(source.deps, 'diagnose_backup_failure')).toMatch(
        /^no failed backup run was found/,
      );
      expect(await faultOf(source.deps, 'diagnose_backup_failure', { run_id: 99 })).toBe(
        'backup run 99 does not exist: list_backup_runs shows which do',
      );
    });

    it('says which repositories were backed up since', async () => {
      const run = await insertRun(source.db, { status: 'failed', failed: 1 });
      const at = (minute: number) => ({ created_at: `2026-03-02T00:0${minute}:00Z` });
      await insertResult(source.db, run, 'owner/a', { status: 'failed', ...at(1) });
      const later = await insertRun(source.db, { successful: 1 });
      await insertResult(source.db, later, 'owner/a', { commit_hash: 'new', ...at(2) });
      const { failures, recommended_actions } = await diagnose();
      expect(failures).toMatchObject([{ last_successful_commit: 'new', recovered: 1 }]);
      expect(recommended_actions).toContainEqual(
        expect.stringMatching(/^1 of the failed repositories/),
      );
    });

    it('returns the fixes of the latest run as past incidents, newest first', async () => {
      const run = await insertRun(source.db, { status: 'failed' });
      await insertResult(source.db, run, 'owner/a', { status: 'failed' });
      for (const [n, title] of ['one', 'two', 'three', 'four'].entries()) {
        await insertFix(source.db, [run], { title, created_at: `2026-03-0${n + 1}T00:00:00Z` });
      }
      expect(await diagnose()).toMatchObject({
        similar_past_incidents: [
          { run_id: run, resolution: 'four' },
          { run_id: run, resolution: 'three' },
          { run_id: run, resolution: 'two' },
        ],
      });
    });

    it('groups failures whose errors differ only in numbers, hashes and the repository', async () => {
      const run = await insertRun(source.db, { status: 'completed', failed: 5 });
      const errors = [
        ['owner/one', 'fatal: repository owner/one not found (request 17, id 0123456789abcdef)'],
        ['owner/lonely', 'No space left on device'],
        ['owner/two', 'Fatal: repository owner/two not found (request 4, id fedcba9876543210)'],
        ['other/three', 'fatal: repository other/three not found (request 5, id 0f0f0f0f0f0f0f0f)'],
      ] as const;
      for (const [repository, error_message] of errors) {
        await insertResult(source.db, run, repository, { status: 'failed', error_message });
      }
      // The same text, but a different kind of failure.
      const error_message = errors[1][1];
      await insertResult(source.db, run, 'owner/large', { status: 'too_large', error_message });
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

    it('limits names, errors, logs and their lengths, and returns the rest with cursor', async () => {
      const run = await insertRun(source.db, { status: 'failed', failed: 60 });
      const letters = 'chr(97 + n / 26) || chr(97 + n % 26)';
      await sql(
        source.db,
        `INSERT INTO backup_results (run_id, repo_full_name, status, error_message)
         SELECT ${run}, 'owner/' || n, 'failed', ${letters} || repeat('x', 5000) FROM generate_series(1, 30) AS n
         UNION ALL
         SELECT ${run}, 'owner/' || n, 'failed', 'all the same' FROM generate_series(31, 60) AS n`,
      );
      await sql(
        source.db,
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
    ])('says how a run without a failed repository ended: %j', async (row, said) => {
      const run = await insertRun(source.db, row);
      const packet = await diagnose({ run_id: run });
      expect(packet.message).toContain(said);
      const isGood = row.status !== 'failed' && !('failed' in row);
      expect(packet).toMatchObject({ run_id: run, run_status: row.status, failures: [] });
      expect(packet.failed_at === null).toBe(isGood);
      expect((packet.recommended_actions as string[]).length === 0).toBe(isGood);
    });
  });
});
