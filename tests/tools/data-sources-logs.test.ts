import { describe, expect, it } from 'vitest';
import { everySource, setUpSource } from '../support/backup-sources.ts';
import { insertLog, insertResult, insertRun } from '../support/records.ts';
import { answerOf, faultOf } from '../support/tools.ts';

// The contract of data-sources.test.ts for logs.

describe.each(everySource)('the tools over %s', (_name, open) => {
  const source = setUpSource(open);

  describe('get_execution_logs', () => {
    const logs = async (given: object) => {
      const answer = await answerOf(source.deps, 'get_execution_logs', given);
      const messages = (answer.logs as { message: string }[]).map(({ message }) => message);
      expect(answer.returned).toBe(messages.length);
      return { messages, truncated: answer.truncated };
    };

    it('returns every field of the newest logs', async () => {
      const id = await insertLog(source.db, {
        level: 'WARN',
        message: 'slow',
        repository: 'owner/a',
        run_id: 7,
        created_at: '2026-03-01T00:00:00.123456Z',
      });
      expect(await answerOf(source.deps, 'get_execution_logs')).toEqual({
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
      const run = await insertRun(source.db);
      const other = await insertRun(source.db);
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
        await insertLog(source.db, { run_id, repository, level, message: `${n}`, created_at });
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
      await insertLog(source.db, { repository: 'Öwner/Ä', message: 'umlauts' });
      expect(await messages({ repository: 'Öwner/Ä' })).toBe('umlauts');
      expect(await messages({ run_id: 999 })).toBe('');
    });

    it('returns older lines in order of time with before_id, whatever the filter', async () => {
      const times = ['05', '03', '04', '01', '02'];
      const ids: number[] = [];
      for (const [n, second] of times.entries()) {
        const created_at = `2026-03-01T00:00:${second}Z`;
        const line = { run_id: 7, repository: 'owner/a', level: 'error', message: second };
        ids[n] = await insertLog(source.db, { ...line, created_at });
      }
      await insertLog(source.db, { message: 'other', created_at: '2026-03-01T00:00:00Z' });
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
      expect(await faultOf(source.deps, 'get_execution_logs', { before_id: 99 })).toMatch(
        /^log 99 does not exist: before_id must/,
      );
    });

    it('returns only newer lines with since', async () => {
      for (const day of ['01', '02', '03']) {
        const created_at = `2026-03-${day}T00:00:00Z`;
        await insertLog(source.db, { repository: 'owner/a', message: day, created_at });
      }
      const since = async (moment: string, filter: object = {}) =>
        (await logs({ since: moment, ...filter })).messages.join(' ');
      expect(await since('2026-03-02')).toBe('03 02');
      expect(await since('2026-03-02T00:00:00.000001Z')).toBe('03 02');
      expect(await since('2026-03-02T00:00:00.001Z')).toBe('03');
      expect(await since('2026-03-02T01:00:00+02:00', { repository: 'owner/a' })).toBe('03 02');
      expect(await since('2026-03-04')).toBe('');
      for (const wrong of [
        'yesterday',
        '2026-13-01',
        '2026-03-01T',
        '0000-01-01',
        '0'.repeat(10_000),
      ]) {
        expect(await faultOf(source.deps, 'get_execution_logs', { since: wrong })).toMatch(
          /since: must be a date or a time in ISO 8601/,
        );
      }
    });

    it('names similar repositories when an unknown one has no logs', async () => {
      const run = await insertRun(source.db);
      await insertResult(source.db, run, 'Acme/Widgets');
      const note = async (repository: string) =>
        (await answerOf(source.deps, 'get_execution_logs', { repository })).note;
      expect(await note('acme/wigdets')).toBe(
        'no repository "acme/wigdets" is tracked; did you mean Acme/Widgets? list_tracked_repositories lists those that are',
      );
      expect(await note('acme/widgets')).toBeUndefined();
      expect(await note('zzz')).toBe(
        'no repository "zzz" is tracked; list_tracked_repositories lists those that are',
      );
    });

    it.each([{}, { repository: 'owner/a' }, { run_id: 3 }, { run_id: 3, repository: 'owner/a' }])(
      'says whether there are more than returned: %j',
      async (filter) => {
        for (let n = 0; n < 3; n++) {
          const created_at = `2026-03-01T00:00:0${n}Z`;
          const level = n === 0 ? 'info' : 'error';
          const row = { run_id: 3, repository: 'owner/a', message: `${n}`, level, created_at };
          await insertLog(source.db, row);
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
});
