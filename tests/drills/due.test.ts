import { beforeEach, describe, expect, it } from 'vitest';
import { claimDrill, releaseDrillClaim, renewDrillClaim } from '../../lib/records/drills/due.ts';
import type { NewDrill } from '../../lib/records/drills/new-drill.ts';
import { recordDrill } from '../../lib/records/drills/record.ts';
import { emptyLedger, someDrill } from '../support/drills.ts';
import { useDatabase } from '../support/hooks.ts';
import { sql } from '../support/records.ts';

const database = useDatabase();
const NOW = Date.parse('2026-05-20T12:00:00Z');
const ago = (days: number) => new Date(NOW - days * 86_400_000).toISOString();

beforeEach(async () => {
  await emptyLedger(database.db);
  await sql(
    database.db,
    'TRUNCATE worker_repo_state, archive_versions, archive_stores, restore_drill_claims',
  );
});

/** A repository with versions made the given numbers of days ago. */
async function track(name: string, ...versionsAgo: number[]): Promise<void> {
  await sql(
    database.db,
    `INSERT INTO worker_repo_state (repo_full_name, archive_key, updated_at, checked_at)
     VALUES ($1, 'x.bundle', $2::timestamptz, $2::timestamptz)`,
    [name, ago(Math.max(...versionsAgo, 0))],
  );
  for (const [index, days] of versionsAgo.entries()) {
    await sql(
      database.db,
      'INSERT INTO archive_versions (repo_full_name, version, created_at) VALUES ($1, $2::int, $3::timestamptz)',
      [name, index + 1, ago(days)],
    );
  }
}
const drill = (repository: string, days: number, more: Partial<NewDrill> = {}) =>
  recordDrill(
    database.db,
    someDrill({ repository, startedAt: ago(days), version: 1, ...more }),
    null,
  );
const incomplete: Partial<NewDrill> = { outcome: 'incomplete', reason: 'no time' };

/** The repositories that would be drilled, in order. */
async function order(isForced = false): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const without = found.map((name) => name.toLowerCase());
    const selection = { now: ago(0), isForced, only: null, without };
    const due = await claimDrill(database.db, 'me', selection);
    if (due === null) return found;
    found.push(due.repository);
  }
}

describe('the next drill', () => {
  it('belongs to overdue ones and those without a proof, first what changed, then the oldest proof', async () => {
    for (const name of ['a/nine', 'a/ten', 'a/overdue', 'a/late']) await track(name, 60);
    await track('A/New', 1);
    await track('a/old-and-new', 5);
    await drill('a/nine', 9);
    await drill('a/ten', 10);
    await drill('a/overdue', 25);
    await drill('a/late', 40);
    expect(await order()).toEqual([
      ...['a/old-and-new', 'A/New', 'a/late', 'a/overdue'],
      ...['a/ten', 'a/nine'],
    ]);
  });

  it('comes sooner for a repository that has changed since its proof', async () => {
    await track('a/same', 60);
    await track('a/changed', 60, 5, 4, 3);
    await drill('a/same', 10);
    await drill('a/changed', 8);
    expect(await order()).toEqual(['a/changed', 'a/same']);
  });

  it.each<[string, number[], number, Partial<NewDrill>, string[]]>([
    ['proven an hour ago', [60], 1 / 24, {}, []],
    ['proven an hour ago, and changed', [60, 0.01], 1 / 24, {}, []],
    ['proven a day ago, and changed', [60, 0.5], 1, {}, ['a/app']],
    ['proven a day ago', [60], 1, {}, []],
    ['proven 8 days ago', [60], 8, {}, ['a/app']],
    ['failed a day ago', [60], 1, { outcome: 'failed', reason: 'x' }, ['a/app']],
    ['failed an hour ago', [60], 1 / 24, { outcome: 'failed', reason: 'x' }, []],
    ['proven with a clock that was ahead', [60], -400, {}, ['a/app']],
  ])(
    'respects the waiting time of a repository %s',
    async (_what, versions, days, more, expected) => {
      await track('a/app', ...versions);
      await drill('a/app', days, more);
      expect(await order()).toEqual(expected);
      expect(await order(true)).toEqual(['a/app']);
    },
  );

  it('waits twice as long after each incomplete one', async () => {
    await track('a/app', 60);
    await drill('a/app', 1, incomplete);
    expect(await order()).toEqual(['a/app']);
    await drill('a/app', 0.9, incomplete);
    expect(await order()).toEqual([]);
    await emptyLedger(database.db);
    await drill('a/app', 2.5, incomplete);
    await drill('a/app', 2, incomplete);
    expect(await order()).toEqual(['a/app']);
    // A proof resets the wait.
    await drill('a/app', 1.5);
    expect(await order()).toEqual([]);
    await drill('a/app', 1, incomplete);
    expect(await order()).toEqual(['a/app']);
  });

  it('skips repositories whose archive is not a bundle, or that have none', async () => {
    await sql(
      database.db,
      `INSERT INTO worker_repo_state (repo_full_name, archive_key) VALUES ('a/old', 'old.tar.gz'), ('a/none', '')`,
    );
    expect(await order(true)).toEqual([]);
  });
});

describe('a claim', () => {
  const all = { now: ago(0), isForced: true, only: null, without: [] };
  const claim = (holder: string, only: string | null = null) =>
    claimDrill(database.db, holder, { ...all, only });

  it('belongs to one worker until it is released or expires', async () => {
    await track('a/app', 60);
    await track('A/Other', 50);
    expect(await claim('one')).toMatchObject({ repository: 'a/app' });
    expect(await claim('two')).toMatchObject({ repository: 'A/Other' });
    expect(await claim('three')).toBeNull();
    expect(await claim('two', 'a/APP')).toBeNull();
    await releaseDrillClaim(database.db, 'two', 'a/app');
    expect(await claim('three')).toBeNull();
    await releaseDrillClaim(database.db, 'one', 'A/App');
    expect(await claim('three')).toMatchObject({ repository: 'a/app' });
    await sql(database.db, "UPDATE restore_drill_claims SET until = now() - interval '1 second'");
    expect(await claim('four', 'a/app')).toMatchObject({ repository: 'a/app' });
    expect(await renewDrillClaim(database.db, 'three', 'a/app')).toBe(false);
    expect(await renewDrillClaim(database.db, 'four', 'a/app')).toBe(true);
  });

  it('is exclusive when many workers ask at once', async () => {
    for (let n = 0; n < 8; n++) await track(`a/app-${n}`, 60);
    const found = await Promise.all(Array.from({ length: 8 }, (_, n) => claim(`worker-${n}`)));
    const names = found.map((due) => due?.repository);
    expect(new Set(names).size).toBe(8);
    expect(names).not.toContain(undefined);
  });

  it('tells where the repository was restored from before, where that failed, and which store has which version', async () => {
    await track('a/app', 60);
    await drill('a/app', 9, { storage: 's3://one' });
    await drill('a/app', 8, { storage: 's3://two', outcome: 'failed', reason: 'it is damaged' });
    await drill('a/app', 7, { storage: 's3://two', ...incomplete });
    await sql(
      database.db,
      `INSERT INTO archive_stores (repo_full_name, store, version, stored_at) VALUES
         ('A/App', 's3://two', 2, now()), ('a/app', 's3://two', 9, now() - interval '1 day'), ('a/app', 's3://three', 4, NULL)`,
    );
    expect(await claim('one')).toEqual({
      repository: 'a/app',
      recentStorages: ['s3://two', 's3://two', 's3://one'],
      failedIn: 's3://two',
      storedIn: [{ store: 's3://two', version: 2 }],
      foundEmptyAt: null,
    });
  });
});
