import { beforeEach, describe, expect, it } from 'vitest';
import { recordDrill } from '../../../lib/records/drills/record.ts';
import { TEST_SECRET } from '../../support/deps.ts';
import { emptyLedger, someDrill } from '../../support/drills.ts';
import { useDatabase } from '../../support/hooks.ts';
import {
  createObservatoryClient,
  type ObservatoryClient,
} from '../../support/observatory-client.ts';
import {
  empty,
  insertFix,
  insertLog,
  insertResult,
  insertRun,
  sql,
} from '../../support/records.ts';

const ID = '6f3c2f1e-0c5a-4b7d-9a53-3f1f7f1d2c11';
const MiB = 2 ** 20;

const database = useDatabase();
let client: ObservatoryClient;

beforeEach(async () => {
  await empty(database.db);
  await sql(database.db, 'TRUNCATE reports');
  await emptyLedger(database.db);
  client = createObservatoryClient({ db: database.db });
});

const post = (report_type: string, fields = {}) =>
  client.post('/reports', { report_type, ...fields });
const make = async (type: string, fields = {}) => (await post(type, fields)).body.data;

/** Two runs: one of 1 March 2026 without failures, one of 2 March with one. */
async function insertRuns() {
  const good = await insertRun(database.db, {
    status: 'completed',
    started_at: '2026-03-01T05:00:00Z',
    completed_at: '2026-03-01T05:01:05Z',
    total_repos: 1,
    successful: 1,
    duration_ms: 65_000,
  });
  await insertResult(database.db, good, 'acme/site', {
    status: 'completed',
    archive_size_bytes: 2 * MiB,
    commit_hash: 'abcdef0123456789',
    created_at: '2026-03-01T05:00:30Z',
  });
  const bad = await insertRun(database.db, {
    status: 'completed',
    started_at: '2026-03-02T05:00:00Z',
    completed_at: '2026-03-02T05:00:02Z',
    total_repos: 4,
    successful: 3,
    failed: 1,
    duration_ms: 2_000,
    error_message: '1 repository failed',
  });
  await insertResult(database.db, bad, 'acme/tools', {
    status: 'completed',
    archive_size_bytes: 3 * MiB,
    created_at: '2026-03-02T05:00:00Z',
  });
  await insertResult(database.db, bad, 'acme/site', {
    status: 'failed',
    error_message: 'could not resolve host',
    created_at: '2026-03-02T05:00:01Z',
  });
  await insertLog(database.db, {
    run_id: bad,
    level: 'error',
    repository: 'acme/site',
    message: 'fetch gave up',
  });
  return { good, bad };
}

describe('latest_backup', () => {
  it('describes the latest run: failed repositories first, and the runs before it', async () => {
    await insertRuns();
    const report = await make('latest_backup');
    expect(report).toMatchObject({
      report_type: 'latest_backup',
      status: 'generated',
      recipients: [],
      subject: 'Backup run 2: completed, 1 of 4 failed',
      sent_at: null,
      error_message: null,
    });
    expect(report.content_markdown).toBe(
      [
        '# Backup run 2',
        'Started 2026-03-02 05:00 UTC, status `completed`, took 2 s.',
        '- Repositories: 4\n- Successful: 3\n- Unchanged: 0\n- Failed: 1\n- Without failure: 75%\n- Archives made: 3.0 MiB',
        'Error: `1 repository failed`',
        '## Repositories',
        '| Repository | Status | Size | Duration | Error |\n| --- | --- | --- | --- | --- |\n| `acme/site` | `failed` | 0 B | 0 ms | `could not resolve host` |\n| `acme/tools` | `completed` | 3.0 MiB | 0 ms | – |',
        '## Runs',
        '| Run | Started | Status | Repositories | Failed | Skipped | Size | Duration |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n| 2 | 2026-03-02 05:00 UTC | `completed` | 4 | 1 | 0 | 3.0 MiB | 2 s |\n| 1 | 2026-03-01 05:00 UTC | `completed` | 1 | 0 | 0 | 2.0 MiB | 1 min 5 s |',
      ].join('\n\n'),
    );
  });

  it('says how many of the successful repositories were empty', async () => {
    const run = await insertRun(database.db, {
      status: 'completed',
      total_repos: 2,
      successful: 2,
    });
    await insertResult(database.db, run, 'acme/new', { status: 'empty' });
    await insertResult(database.db, run, 'acme/tools', { status: 'completed' });
    const { content_markdown } = await make('latest_backup');
    expect(content_markdown).toContain('- Successful: 2, of which empty (nothing to archive): 1\n');
  });

  it('has the same tables in HTML, with a chart of the runs', async () => {
    await insertRuns();
    const { content_html: html } = await make('latest_backup');
    expect(html).toContain('<td><code>acme/site</code></td>');
    expect(html.match(/<svg /g)).toHaveLength(1);
    expect(html.match(/<rect /g)).toHaveLength(2);
    expect(html.indexOf('#1</text>')).toBeLessThan(html.indexOf('#2</text>'));
  });

  it('describes another run given its id, without the runs after it', async () => {
    const { good } = await insertRuns();
    const { subject, content_markdown } = await make('latest_backup', { run_id: good });
    expect(subject).toBe('Backup run 1: completed, 0 of 1 failed');
    expect(content_markdown).not.toContain('2026-03-02');
  });

  it('says how many repositories are not shown', async () => {
    const run = await insertRun(database.db, { total_repos: 203 });
    await sql(
      database.db,
      `INSERT INTO backup_results (run_id, repo_full_name) SELECT ${run}, 'acme/' || n FROM generate_series(1, 203) n`,
    );
    const { content_markdown } = await make('latest_backup');
    expect(content_markdown).toContain('\n\nNot shown: 3 more.\n\n');
  });
});

describe('executive_summary', () => {
  it('describes the last 30 days: day by day, with failures and the largest archives', async () => {
    await insertRun(database.db, { started_at: '2026-02-01T05:00:00Z', total_repos: 9, failed: 9 });
    await insertRuns();
    const { subject, content_markdown, content_html } = await make('executive_summary');
    expect(subject).toBe('Backup summary 2026-02-02 to 2026-03-04: runs 2, with failures 1');
    expect(content_markdown).toContain('- Repositories without failure: 80% (failed: 1 of 5)\n');
    expect(content_markdown).toContain(
      '- Archives made: 5.0 MiB\n- Kept now: 3.0 MiB, repositories: 2\n- Proven restorable within 30 days: 0 of 2 (never: 2, restore drill failed: 0)',
    );
    expect(content_markdown).toContain(
      '| 2026-03-02 | 1 | 4 | 1 | 75% | 3.0 MiB | 2 s |\n| 2026-03-01 | 1 | 1 | 0 | 100% | 2.0 MiB | 1 min 5 s |',
    );
    expect(content_markdown).toContain('| `acme/site` | 1 | `could not resolve host` |');
    expect(content_markdown).toContain('| `acme/tools` | 3.0 MiB | 2026-03-02 05:00 UTC |');
    expect(content_html.match(/<rect /g)).toHaveLength(2);
  });

  it('says when and from where each repository was proven restorable, those that need a proof most first', async () => {
    const run = await insertRun(database.db, { started_at: '2026-03-02T05:00:00Z' });
    for (const name of ['acme/s3', 'acme/broken', 'acme/bad|name', 'acme/folder', 'acme/lost']) {
      await insertResult(database.db, run, name);
    }
    const failed = { outcome: 'failed', reason: 'CORRUPT' } as const;
    for (const drill of [
      { repository: 'acme/s3', storage: 's3://b/git', startedAt: '2026-03-01T10:00:00.000Z' },
      { repository: 'acme/folder', startedAt: '2026-02-01T10:00:00.000Z' },
      { repository: 'acme/lost', startedAt: '2026-02-02T10:00:00.000Z' },
      { repository: 'acme/lost', startedAt: '2026-02-03T10:00:00.000Z', ...failed },
      { repository: 'acme/broken', startedAt: '2026-03-02T10:00:00.000Z', ...failed },
    ]) {
      await recordDrill(database.db, someDrill(drill), null);
    }
    const { content_markdown, content_html } = await make('executive_summary');
    expect(content_markdown).toContain(
      '- Proven restorable within 30 days: 1 of 5 (never: 1, restore drill failed: 2)',
    );
    expect(content_markdown).toContain(
      [
        '## Restore proofs\n\n| Repository | Restore proof |\n| --- | --- |',
        '| `acme/broken` | failed on 2026-03-02 10:00 UTC |',
        '| `acme/lost` | failed on 2026-02-03 10:00 UTC, last proven on 2026-02-02 10:00 UTC from the archive folder |',
        '| `acme/bad\\|name` | never |',
        '| `acme/folder` | proven on 2026-02-01 10:00 UTC from the archive folder |',
        '| `acme/s3` | proven on 2026-03-01 10:00 UTC from `s3://b/git` |\n\n## Largest archives',
      ].join('\n'),
    );
    expect(content_html).toContain('<td><code>acme/bad|name</code></td>\n<td>never</td>');
  });

  it('names twenty repositories that need a proof, and says how many more there are', async () => {
    const run = await insertRun(database.db, { started_at: '2026-03-02T05:00:00Z' });
    for (let n = 10; n <= 32; n++) await insertResult(database.db, run, `acme/${n}`);
    const { content_markdown } = await make('executive_summary');
    expect(content_markdown.match(/ \| never \|/g)).toHaveLength(20);
    expect(content_markdown).toContain('| `acme/29` | never |\n\nNot shown: 3 more.\n\n');
  });

  it('ends with a given run', async () => {
    const { good } = await insertRuns();
    const { content_markdown } = await make('executive_summary', { run_id: good });
    expect(content_markdown).toContain('From 2026-01-30 05:00 UTC to 2026-03-01 05:00 UTC.');
    expect(content_markdown).toContain('- Runs: 1, with failures: 0');
  });
});

describe('failure_investigation', () => {
  it('describes the latest failed run: errors, logs, last good commits, actions and fixes', async () => {
    const { bad } = await insertRuns();
    await insertRun(database.db, { started_at: '2026-03-03T05:00:00Z', status: 'completed' });
    await insertFix(database.db, [bad], { title: 'DNS', description: 'Set a resolver' });
    const { subject, content_markdown, content_html } = await make('failure_investigation');
    expect(subject).toBe('Failure investigation: run 2, failed repositories 1');
    expect(content_markdown).toContain(
      '| `acme/site` | `failed` | `could not resolve host` | `fetch gave up` | `abcdef012345` | not backed up |',
    );
    expect(content_markdown).toContain('- Check the network connection to the git host');
    expect(content_markdown).toContain('- `DNS: Set a resolver`');
    expect(content_html.match(/<rect /g)).toHaveLength(2);
  });

  it('describes a run given its id', async () => {
    const { good } = await insertRuns();
    const { content_markdown } = await make('failure_investigation', { run_id: good });
    expect(content_markdown).toContain('# Failures of run 1\n');
  });

  it('gives no advice for a run in which nothing failed', async () => {
    const { good } = await insertRuns();
    const { content_markdown } = await make('failure_investigation', { run_id: good });
    expect(content_markdown).toContain('No repository is recorded as failed.');
    expect(content_markdown).not.toContain('## What to do');
  });
});

describe('every report', () => {
  const types = ['latest_backup', 'executive_summary', 'failure_investigation'];

  it.each(types)('can be made from an empty database: %s', async (type) => {
    const { content_markdown, content_html } = await make(type);
    expect(content_markdown).toMatch(/No backup run|There was no run|No failed backup run/);
    expect(content_html).not.toContain('<svg');
  });

  it.each(types)('is 404 for a run that does not exist: %s', async (type) => {
    for (const run_id of [7, Number.MAX_SAFE_INTEGER]) {
      const { status, body } = await post(type, { run_id });
      expect([status, body.error.message]).toEqual([404, `run ${run_id} does not exist`]);
    }
  });

  it.each(types)(
    'shows hostile names, errors and logs as text without secrets: %s',
    async (type) => {
      const token = `ghp_${'a'.repeat(36)}`;
      const evil = `<img src=x onerror=alert(1)>|\n\n# Big\n![x](https://evil.example/p.png) [go](javascript:alert(1)) \`tick\` ${token} ${TEST_SECRET} https://evil.example`;
      const run = await insertRun(database.db, {
        status: 'failed',
        failed: 1,
        total_repos: 1,
        started_at: '2026-03-02T05:00:00Z',
        error_message: evil,
      });
      await insertResult(database.db, run, `acme/<b>|[x](y)`, {
        status: 'failed',
        error_message: evil,
      });
      await insertLog(database.db, { run_id: run, level: 'error', message: evil });
      await insertFix(database.db, [run], { title: evil, description: evil });
      const { content_html, content_markdown } = await make(type);
      expect(content_html).toContain('&lt;img src=x onerror=alert(1)&gt;|');
      expect(content_html).not.toMatch(/<(img|a|b|script)\b|<h1>Big/);
      for (const secret of [token, TEST_SECRET]) {
        expect(content_html + content_markdown).not.toContain(secret);
      }
      expect(content_html).toContain('[redacted]');
    },
  );
});

describe('POST /reports', () => {
  it("uses the caller's text instead of the generated one, without secrets and as safe HTML", async () => {
    const { content_markdown, content_html, subject } = await make('latest_backup', {
      subject: `Key ${TEST_SECRET}`,
      content_markdown: `**Look** at <script>x</script> ${TEST_SECRET}\u202e`,
    });
    expect(subject).toBe('Key [redacted]');
    expect(content_markdown).toBe('**Look** at <script>x</script> [redacted]');
    expect(content_html).toBe(
      '<p><strong>Look</strong> at &lt;script&gt;x&lt;/script&gt; [redacted]</p>\n',
    );
  });

  it('removes a secret that contains an invisible character', async () => {
    const hidden = `${TEST_SECRET.slice(0, 9)}\u202e${TEST_SECRET.slice(9)}`;
    const { subject, content_markdown } = await make('latest_backup', {
      subject: `Key ${hidden}`,
      content_markdown: `Key ${hidden}`,
    });
    expect([subject, content_markdown]).toEqual(['Key [redacted]', 'Key [redacted]']);
  });

  it.each(['subject', 'content_markdown'])(
    'answers 400 to a %s without visible characters',
    async (path) => {
      const { status, body } = await post('latest_backup', { [path]: '\u202e \u200b' });
      expect([status, body.error.code]).toEqual([400, 'VALIDATION_ERROR']);
      expect(body.error.details[0].path).toBe(path);
      expect((await client.get('/reports')).body.data).toEqual([]);
    },
  );

  it.each(['weekly', '', 'custom', 'constructor', 'Latest_Backup'])(
    'answers 400 UNKNOWN_REPORT_TYPE to %j',
    async (type) => {
      const { status, body } = await post(type);
      expect([status, body.error.code]).toEqual([400, 'UNKNOWN_REPORT_TYPE']);
    },
  );

  it.each([
    ['no type', { report_type: undefined }, 'report_type'],
    ['a numeric type', { report_type: 7 }, 'report_type'],
    ['an empty subject', { subject: ' ' }, 'subject'],
    ['a run_id as text', { run_id: '7' }, 'run_id'],
    ['recipients that are no list', { recipients: 'ops@example.com' }, 'recipients'],
    ['text that is too long', { content_markdown: 'x'.repeat(100_001) }, 'content_markdown'],
  ])('answers 400 to %s', async (_case, fields, path) => {
    const { status, body } = await post('latest_backup', fields);
    expect([status, body.error.code]).toEqual([400, 'VALIDATION_ERROR']);
    expect(body.error.details[0].path).toBe(path);
  });
});

describe('GET /reports', () => {
  it("lists the caller's reports in pages, newest first", async () => {
    const ids = [];
    for (const type of ['latest_backup', 'executive_summary', 'failure_investigation']) {
      ids.unshift((await make(type)).id);
    }
    const idsOf = async (query: string) =>
      (await client.get(`/reports${query}`)).body.data.map((it: { id: string }) => it.id);
    expect(await idsOf('')).toEqual(ids);
    expect(await idsOf('?limit=1&page=2')).toEqual([ids[1]]);
    expect((await client.get('/reports?limit=51')).status).toBe(400);
  });

  it('returns a report by its id, 404 for an unknown id and 422 for a malformed one', async () => {
    const report = await make('latest_backup');
    expect((await client.get(`/reports/${report.id.toUpperCase()}`)).body.data).toEqual(report);
    expect((await client.get(`/reports/${ID}`)).status).toBe(404);
    const { status, body } = await client.get('/reports/x');
    expect([status, body.error.code]).toEqual([422, 'VALIDATION_ERROR']);
  });
});
