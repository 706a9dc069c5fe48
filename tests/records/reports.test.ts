import { describe, expect, it } from 'vitest';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { readRunFacts, readRunHistory, readSummaryFacts } from '../../lib/records/report-facts.ts';
import { addReport, findReport, listReports, recordDelivery } from '../../lib/records/reports.ts';
import { everyDatabase } from '../support/databases.ts';
import { someDrill } from '../support/drills.ts';
import { useDatabase } from '../support/hooks.ts';
import { insertResult, insertRun } from '../support/records.ts';

// Tests reports over each driver, because their types and servers differ.

const REPORT = {
  username: 'ada',
  reportType: 'latest_backup',
  subject: 'a "subject"',
  recipients: ['ops@example.com', 'a"b,{c}\\@example.com'],
  contentMarkdown: '# x',
  contentHtml: '<h1>x</h1>',
};
const NOW = Date.parse('2026-03-04T05:06:00Z');

describe.each(everyDatabase)('over %s', (_name, create) => {
  const database = useDatabase(create);

  it('a report is stored, found, listed and marked as delivered', async () => {
    const { db } = database;
    const kept = await addReport(db, REPORT);
    expect(kept).toMatchObject({
      recipients: REPORT.recipients,
      status: 'generated',
      sent_at: null,
      error_message: null,
    });
    const failed = await recordDelivery(db, kept.id, { recipients: [], error: 'no' });
    expect(failed).toMatchObject({ status: 'failed', recipients: [], error_message: 'no' });
    const delivery = { recipients: REPORT.recipients, error: null };
    const sent = await recordDelivery(db, kept.id, delivery);
    expect(sent).toMatchObject({ ...kept, status: 'sent', sent_at: expect.any(String) });
    expect(await findReport(db, 'ada', kept.id)).toEqual(sent);
    expect(await findReport(db, 'grace', kept.id)).toBeNull();
    expect(JSON.parse(await listReports(db, 'ada', { page: 1, limit: 5 }))).toEqual([sent]);
  });

  it('a report without a user cannot be read', async () => {
    const { id } = await addReport(database.db, { ...REPORT, username: null });
    for (const name of ['', 'null', 'ada']) {
      expect(await findReport(database.db, name, id)).toBeNull();
    }
  });

  it('the facts of a report are numbers and texts', async () => {
    const { db } = database;
    expect(await readRunFacts(db)).toBeNull();
    const summary = { now: NOW };
    expect(await readSummaryFacts(db, summary)).toMatchObject({ runs: 0, days: [], size_bytes: 0 });
    const run = await insertRun(db, {
      started_at: '2026-03-02T05:00:00Z',
      status: 'success',
      total_repos: 1,
      failed: 1,
      duration_ms: 3_000_000_000,
    });
    await insertResult(db, run, 'a/b', { archive_size_bytes: 3_000_000_000, status: 'completed' });
    await insertResult(db, run, 'a/c', { status: 'too_large' });
    const figures = {
      id: run,
      started_at: '2026-03-02T05:00:00.000000Z',
      status: 'completed',
      duration_ms: 3_000_000_000,
      size_bytes: 3_000_000_000,
    };
    await insertResult(db, run, 'a/d', { status: 'completed' });
    for (const drill of [
      { repository: 'a/b', startedAt: '2026-03-01T05:00:00.000Z', storage: 's3://b/git' },
      {
        ...{ repository: 'a/c', startedAt: '2026-03-02T06:00:00.000Z' },
        ...{ outcome: 'failed' as const, reason: 'CORRUPT' },
      },
    ]) {
      await recordDrill(db, someDrill(drill), null);
    }
    const facts = await readRunFacts(db, run);
    expect(facts).toMatchObject({ run: figures, results_count: 3, history: [figures] });
    expect(facts?.results.map(({ repository }) => repository)).toEqual(['a/c', 'a/b', 'a/d']);
    expect(await readRunHistory(db, run)).toMatchObject([figures]);
    expect(await readSummaryFacts(db, summary)).toMatchObject({
      runs: 1,
      failed_runs: 1,
      days: [{ date: '2026-03-02', size_bytes: 3_000_000_000 }],
      failing: [{ repository: 'a/c', failures: 1, error_message: '' }],
      largest: [{ repository: 'a/b', size_bytes: 3_000_000_000 }],
      repositories: 3,
      proofs: {
        ...{ proven: 1, overdue: 0, never: 1, failing: 1 },
        most_needed: [
          {
            ...{ full_name: 'a/c', state: 'failing', proven_at: null, storage: null },
            failed_at: '2026-03-02T06:00:00.000000Z',
          },
          { full_name: 'a/d', state: 'never', proven_at: null, storage: null, failed_at: null },
          {
            ...{ full_name: 'a/b', state: 'proven', storage: 's3://b/git', failed_at: null },
            proven_at: '2026-03-01T05:00:00.000000Z',
          },
        ],
      },
      stored_bytes: 3_000_000_000,
    });
    expect(await readSummaryFacts(db, { now: NOW, runId: run + 1 })).toBeNull();
  });
});
