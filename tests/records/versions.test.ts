import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../lib/database/database.ts';
import { newAnomaly } from '../../lib/records/anomalies/new-anomaly.ts';
import { readLastDurations } from '../../lib/records/recording/durations.ts';
import { readRepoState } from '../../lib/records/recording/repo-state.ts';
import {
  markPruned,
  type NewVersion,
  readNewestVersion,
  recordVersion,
} from '../../lib/records/recording/versions.ts';
import { readVersionRefs } from '../../lib/records/repositories/versions.ts';
import { everyDatabase } from '../support/databases.ts';
import { useDatabase } from '../support/hooks.ts';
import { empty, insertResult, insertRun, sql } from '../support/records.ts';

const REPOSITORY = 'acme/app';

type Refs = Record<string, string | null>;

/** An object id made from a letter. */
const id = (letter: string) => letter.repeat(40);
const manifestOf = (version: number, archive = 'first') => `${archive} ${version}`;

const versionWith = (version: number, since: string | null, refs: Refs): NewVersion => ({
  repository: REPOSITORY,
  version,
  runId: 7,
  at: '2026-03-01T10:00:00.123456Z',
  headBranch: 'main',
  refCount: 3,
  refsSha256: 'digest',
  manifestSha256: manifestOf(version),
  archiveKey: 'acme__app.bundle',
  files: 2,
  sizeBytes: 5_000_000_000,
  newBytes: 1_000,
  warning: null,
  anomalies: [],
  changes: { since, refs: new Map(Object.entries(refs)) },
});

/** All refs of a version, read in small pages; null when there is no such version. */
async function refsAt(db: Database, version: number): Promise<Record<string, string> | null> {
  const found: Record<string, string> = {};
  let after: string | undefined;
  for (;;) {
    const answer = await readVersionRefs(db, REPOSITORY, version, { limit: 500, after });
    if (answer === null || answer === 'pruned') return null;
    const { data, next } = JSON.parse(answer.item);
    for (const { name, object_id } of data) found[name] = object_id;
    if (next === null) return found;
    after = next;
  }
}

const ledger = (db: Database) =>
  sql<{ name: string; object_id: string; from_version: number; to_version: number | null }>(
    db,
    'SELECT name, object_id, from_version, to_version FROM archive_refs ORDER BY name, from_version',
  );

/** The database with a connection that is lost after the given number of statements. */
function lostAfter(db: Database, statements: number): Database {
  let left = statements;
  return {
    ...db,
    async query(...asked) {
      if (left === 0) throw new Error('the connection was lost');
      left -= 1;
      return db.query(...asked);
    },
  };
}

describe.each(everyDatabase)('versions over %s', (_name, create) => {
  const database = useDatabase(create);
  let db: Database;

  beforeAll(async () => {
    db = database.db;
  });
  beforeEach(() => empty(db));

  const record = (version: number, since: string | null, refs: Refs) =>
    recordVersion(db, versionWith(version, since, refs));

  /** Three versions: `gone` is deleted in the second and comes back in the third. */
  async function recordThree(): Promise<void> {
    await record(1, null, {
      HEAD: id('a'),
      'refs/heads/main': id('a'),
      'refs/heads/gone': id('a'),
    });
    await record(2, manifestOf(1), {
      HEAD: id('b'),
      'refs/heads/main': id('b'),
      'refs/heads/gone': null,
    });
    await record(3, manifestOf(2), { 'refs/heads/gone': id('c'), 'refs/tags/v1': id('b') });
  }

  it('are recorded with where every ref pointed', async () => {
    await recordThree();
    expect(await refsAt(db, 1)).toEqual({
      HEAD: id('a'),
      'refs/heads/main': id('a'),
      'refs/heads/gone': id('a'),
    });
    expect(await refsAt(db, 2)).toEqual({ HEAD: id('b'), 'refs/heads/main': id('b') });
    expect(await refsAt(db, 3)).toEqual({
      HEAD: id('b'),
      'refs/heads/main': id('b'),
      'refs/heads/gone': id('c'),
      'refs/tags/v1': id('b'),
    });
    expect(await refsAt(db, 4)).toBeNull();
    expect(await readNewestVersion(db, REPOSITORY)).toEqual({
      version: 3,
      manifestSha256: manifestOf(3),
    });
    expect(await readNewestVersion(db, 'acme/other')).toBeNull();
  });

  it('add nothing for a ref that did not change', async () => {
    await recordThree();
    const before = await ledger(db);
    expect(await record(4, manifestOf(3), {})).toBe(true);
    expect(await record(5, manifestOf(4), { 'refs/heads/main': id('b') })).toBe(true);
    expect(await ledger(db)).toEqual(before);
    expect(await refsAt(db, 5)).toEqual(await refsAt(db, 3));
  });

  it('are recorded with their anomalies, each kind once', async () => {
    const anomalies = (version: number) =>
      sql(
        db,
        `SELECT kind, run_id, before, seen_at = '2026-03-01T10:00:00.123456Z' AS "isThen"
         FROM anomalies WHERE version = $1::int ORDER BY id`,
        [version],
      );
    const rewritten = newAnomaly('branches_rewritten', [['refs/heads/ü', id('a'), id('b')]]);
    const shrunk = newAnomaly('shrunk', [['commits', '5', '2']]);
    await record(1, null, { HEAD: id('a') });
    const second = { ...versionWith(2, manifestOf(1), {}), warning: 'it was rewritten' };
    await recordVersion(db, { ...second, anomalies: [rewritten] });
    await recordVersion(db, { ...second, anomalies: [rewritten, shrunk] });
    expect(await anomalies(2)).toEqual([
      { kind: 'branches_rewritten', run_id: 7, before: { 'refs/heads/ü': id('a') }, isThen: true },
      { kind: 'shrunk', run_id: 7, before: { commits: '5' }, isThen: true },
    ]);
    // If only the warning is known.
    await recordVersion(db, { ...versionWith(3, manifestOf(2), {}), warning: 'the note was lost' });
    expect(await anomalies(3)).toMatchObject([{ kind: 'noted', before: {} }]);
    await sql(db, 'UPDATE anomalies SET confirmed_at = now() WHERE version = 2');
    expect(await readRepoState(db, REPOSITORY, 'none')).toMatchObject({
      confirmed: new Map([
        [3, false],
        [2, true],
      ]),
      hasMissing: false,
    });
    // Another version with this number, about which nothing is confirmed.
    const other = {
      ...versionWith(2, null, { HEAD: id('c') }),
      manifestSha256: manifestOf(2, 'other'),
    };
    await recordVersion(db, other);
    expect(await sql(db, 'SELECT version FROM anomalies')).toEqual([]);
  });

  it('change nothing when they are recorded again', async () => {
    await recordThree();
    const before = await ledger(db);
    expect(await record(3, manifestOf(2), { 'refs/heads/gone': id('c') })).toBe(true);
    expect(await record(2, manifestOf(1), {})).toBe(true);
    expect(await ledger(db)).toEqual(before);
  });

  it('are complete after an interruption at any statement and a retry', async () => {
    // More refs than one statement takes.
    const many = Object.fromEntries(
      Array.from({ length: 10_500 }, (_, n) => [`refs/pull/${n}/head`, id('a')]),
    );
    await record(1, null, { ...many, HEAD: id('a') });
    const changed = Object.fromEntries(
      Object.keys(many).map((name, n) => [name, n % 2 === 0 ? null : id('b')]),
    );
    const next = versionWith(2, manifestOf(1), { ...changed, 'refs/heads/new': id('b') });
    const kept = Object.entries(changed).filter(([, object]) => object !== null);
    const expected = { ...Object.fromEntries(kept), HEAD: id('a'), 'refs/heads/new': id('b') };
    for (const statements of [1, 2, 3]) {
      await expect(recordVersion(lostAfter(db, statements), next)).rejects.toThrow('lost');
      expect(await refsAt(db, 2)).toBeNull();
      expect(await refsAt(db, 1)).toEqual({ ...many, HEAD: id('a') });
    }
    expect(await recordVersion(db, next)).toBe(true);
    expect(await refsAt(db, 2)).toEqual(expected);
    // 10,501 rows at first, and one more for each ref that points elsewhere or is new.
    expect(await ledger(db)).toHaveLength(10_501 + 5_250 + 1);
  });

  it('discard what an abandoned recording had written', async () => {
    await recordThree();
    const abandoned = versionWith(4, manifestOf(3), { HEAD: id('d'), 'refs/heads/gone': null });
    await expect(recordVersion(lostAfter(db, 2), abandoned)).rejects.toThrow('lost');
    await record(5, manifestOf(3), { 'refs/tags/v2': id('e') });
    expect(await refsAt(db, 5)).toEqual({ ...(await refsAt(db, 3)), 'refs/tags/v2': id('e') });
  });

  it('are rejected when their changes are relative to another version, and accept all refs instead', async () => {
    await recordThree();
    const before = await ledger(db);
    expect(await record(5, manifestOf(4), { HEAD: id('e') })).toBe(false);
    expect(await ledger(db)).toEqual(before);
    expect(await record(5, null, { HEAD: id('b'), 'refs/heads/new': id('e') })).toBe(true);
    expect(await refsAt(db, 5)).toEqual({ HEAD: id('b'), 'refs/heads/new': id('e') });
    expect(await refsAt(db, 3)).toMatchObject({ 'refs/heads/gone': id('c') });
  });

  it('close every ref that a complete list leaves out, across all statements', async () => {
    const all = (letter: string, from: number) =>
      Object.fromEntries(
        Array.from({ length: 10_500 }, (_, n) => [`refs/tags/${from + n} 🙂 \uff5e`, id(letter)]),
      );
    await record(1, null, all('a', 0));
    await record(2, null, all('a', 10_200));
    expect(await refsAt(db, 2)).toEqual(all('a', 10_200));
    await record(3, null, {});
    expect(await refsAt(db, 3)).toEqual({});
    expect(await refsAt(db, 1)).toEqual(all('a', 0));
  });

  it('replace those with the same numbers when they belong to a new archive', async () => {
    await recordThree();
    const second = {
      ...versionWith(2, manifestOf(1), { 'refs/heads/gone': null, 'refs/heads/other': id('d') }),
      manifestSha256: manifestOf(2, 'second'),
    };
    expect(await recordVersion(db, second)).toBe(true);
    expect(await refsAt(db, 2)).toEqual({
      HEAD: id('a'),
      'refs/heads/main': id('a'),
      'refs/heads/other': id('d'),
    });
    expect(await refsAt(db, 3)).toBeNull();
    expect(await readNewestVersion(db, REPOSITORY)).toMatchObject({ version: 2 });
  });

  it('leave those of another repository alone', async () => {
    await recordThree();
    const other = { ...versionWith(1, null, { HEAD: id('f') }), repository: 'acme/app2' };
    await recordVersion(db, other);
    await markPruned(db, 'acme/app2', [1]);
    expect(Object.keys((await refsAt(db, 3)) ?? {})).toHaveLength(4);
    expect(await refsAt(db, 1)).not.toBeNull();
  });

  it('lose only the refs that no kept version needs when they are pruned', async () => {
    await recordThree();
    await markPruned(db, REPOSITORY, [2]);
    expect(await refsAt(db, 2)).toBeNull();
    expect(Object.keys((await refsAt(db, 1)) ?? {})).toHaveLength(3);
    expect(Object.keys((await refsAt(db, 3)) ?? {})).toHaveLength(4);
    await markPruned(db, REPOSITORY, [1, 2]);
    await markPruned(db, REPOSITORY, [1, 2]);
    expect(await ledger(db)).toEqual(
      ['HEAD', 'refs/heads/gone', 'refs/heads/main', 'refs/tags/v1'].map((name) =>
        expect.objectContaining({ name, to_version: null }),
      ),
    );
    expect(await refsAt(db, 3)).toMatchObject({ HEAD: id('b'), 'refs/heads/gone': id('c') });
  });

  it('keep apart names that are too long for an index', async () => {
    // Random text, so that the database cannot compress it.
    const long = `refs/heads/${Array.from({ length: 900 }, (_, n) => String.fromCodePoint(0x4e00 + ((n * 7919) % 20_000))).join('')}`;
    await record(1, null, { [`${long}a`]: id('a'), [`${long}b`]: id('b') });
    await record(2, manifestOf(1), { [`${long}a`]: null });
    expect(Object.values((await refsAt(db, 1)) ?? {}).sort()).toEqual([id('a'), id('b')]);
    expect(Object.values((await refsAt(db, 2)) ?? {})).toEqual([id('b')]);
  });

  it('of repositories come with the duration of the last completed backup', async () => {
    const run = await insertRun(db);
    const at = (day: number) => ({ created_at: `2026-03-0${day}T00:00:00Z` });
    await insertResult(db, run, 'a/slow', { ...at(1), duration_ms: 1 });
    await insertResult(db, run, 'a/slow', { ...at(2), duration_ms: 5_000_000_000 });
    await insertResult(db, run, 'a/slow', { ...at(3), duration_ms: 9, status: 'failed' });
    await insertResult(db, run, 'a/old', { ...at(1), duration_ms: null, status: 'success' });
    await insertResult(db, run, 'a/bad', { ...at(1), duration_ms: 9, status: 'failed' });
    expect(await readLastDurations(db, ['a/slow', 'a/old', 'a/bad', 'a/none', 'ü {"\\'])).toEqual(
      new Map([
        ['a/slow', 5_000_000_000],
        ['a/old', 0],
      ]),
    );
  });
});
