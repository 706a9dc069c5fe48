import { beforeEach, describe, expect, it } from 'vitest';
import { applyFindings, readEvaluation } from '../../../lib/alerts/incidents/apply-findings.ts';
import { evaluateRules } from '../../../lib/alerts/incidents/evaluate.ts';
import {
  type Finding,
  type RepositorySeverity,
  repositorySeverity,
} from '../../../lib/alerts/rules/rule.ts';
import type { Database } from '../../../lib/database/database.ts';
import { createTestClock, type TestClock } from '../../support/clock.ts';
import { useDatabase } from '../../support/hooks.ts';
import { alertDeps, DAY_MS, HOUR_MS, listStored } from '../../support/incidents.ts';
import { empty, insertResult, insertRun, sql } from '../../support/records.ts';

const database = useDatabase();
let clock: TestClock;
beforeEach(async () => {
  clock = createTestClock();
  await empty(database.db);
});

const repository = (name: string) => ({ name, reason: 'it broke', since: null });

/** Applies the findings of one rule. */
async function apply(...found: Finding[]) {
  const evaluation = await readEvaluation(database.db);
  return applyFindings(database.db, {
    ...{ now: clock.now(), evaluation, evaluated: ['destination_unreachable'] },
    found: found.map((finding) => ({ ...finding, rule: 'destination_unreachable' })),
  });
}

const about = (...names: string[]): Finding => ({
  ...{ subject: 's3://one', summary: `${names.length} repositories` },
  repositories: names.map(repository),
});

const times = async () =>
  (
    await sql<{ reminded: string | null; resolved: string | null }>(
      database.db,
      `SELECT reminded_at::text AS reminded, resolved_at::text AS resolved FROM incidents ORDER BY id`,
    )
  ).at(-1);

describe('an incident', () => {
  it('opens once for its subject, and groups its repositories', async () => {
    const names = Array.from({ length: 1_000 }, (_, n) => `o/r${n}`);
    expect(await apply(about(...names))).toEqual({ opened: 1, resolved: 0 });
    expect(await apply(about(...names))).toEqual({ opened: 0, resolved: 0 });
    const [incident, ...others] = await listStored(database.db);
    expect(others).toEqual([]);
    expect(incident?.repositories).toHaveLength(1_000);
  });

  it('lets repositories join and leave while it is open', async () => {
    await apply(about('o/a', 'o/b'));
    await apply(about('o/b', 'o/c'));
    expect(await listStored(database.db)).toMatchObject([
      { is_open: true, summary: '2 repositories', repositories: ['o/b', 'o/c'] },
    ]);
  });

  it('resolves itself with its repositories, and opens as a new one afterwards', async () => {
    await apply(about('o/a'));
    expect(await apply()).toEqual({ opened: 0, resolved: 1 });
    await apply(about('o/a'));
    expect(await listStored(database.db)).toMatchObject([
      { is_open: false, repositories: [] },
      { is_open: true, repositories: ['o/a'] },
    ]);
  });

  it('opens at most three times a day if it flaps, and then stays open until it was clear for a day', async () => {
    for (let n = 0; n < 20; n++) {
      await apply(about('o/a'));
      clock.advance(HOUR_MS / 4);
      await apply();
      clock.advance(HOUR_MS / 4);
    }
    expect((await listStored(database.db)).map(({ is_open }) => is_open)).toEqual([
      false,
      false,
      true,
    ]);
    clock.advance(DAY_MS - HOUR_MS);
    // By now, the others are a day old.
    await apply(about('o/a'));
    expect(await listStored(database.db)).toHaveLength(3);
    expect(await apply()).toMatchObject({ resolved: 1 });
  });

  it('resolves once it was clear for a day after flapping', async () => {
    for (let n = 0; n < 3; n++) {
      await apply(about('o/a'));
      await apply();
    }
    expect((await listStored(database.db)).at(-1)?.is_open).toBe(true);
    clock.advance(DAY_MS - 1_000);
    await sql(database.db, "UPDATE incidents SET opened_at = opened_at + interval '1 day'");
    expect(await apply()).toMatchObject({ resolved: 0 });
    clock.advance(1_000);
    expect(await apply()).toMatchObject({ resolved: 1 });
  });

  it('has a reminder once a day while it lasts', async () => {
    await apply(about('o/a'));
    clock.advance(DAY_MS - 1_000);
    await apply(about('o/a'));
    expect((await times())?.reminded).toBeNull();
    clock.advance(1_000);
    await apply(about('o/a'));
    const first = (await times())?.reminded;
    expect(first).not.toBeNull();
    clock.advance(HOUR_MS);
    await apply(about('o/a'));
    expect((await times())?.reminded).toBe(first);
  });

  it('has no more reminders once it is acknowledged, unless a repository joins', async () => {
    await apply(about('o/a'));
    clock.advance(HOUR_MS);
    const at = new Date(clock.now()).toISOString();
    await sql(database.db, 'UPDATE incidents SET acknowledged_at = $1', [at]);
    clock.advance(2 * DAY_MS);
    await apply(about('o/a'));
    await apply(about('o/a'));
    expect((await times())?.reminded).toBeNull();
    await apply(about('o/a', 'o/new'));
    await apply(about('o/a', 'o/new'));
    const remindedAt = (await times())?.reminded;
    expect(remindedAt).not.toBeNull();
    clock.advance(2 * DAY_MS);
    await apply(about('o/a', 'o/new'));
    expect((await times())?.reminded).toBe(remindedAt);
  });

  const losing = (name: string, severity?: RepositorySeverity) =>
    severity === undefined ? repository(name) : { ...repository(name), severity };
  const { failure, loss, archive, nothing } = repositorySeverity;

  it.each([
    ['the first loss, among failures', [failure], loss, true],
    ['a lost archive, among losses', [loss], archive, true],
    ['a lost archive, among lost archives', [archive], archive, true],
    ['one of which nothing is kept, among lost archives', [archive], nothing, true],
    ['a second loss', [failure, loss], loss, false],
    ['another failure', [failure], failure, false],
    ['a failure without a severity', [loss], undefined, false],
  ] as const)(
    'is told about at once when it is joined by %s: %#',
    async (_what, there, joins, isTold) => {
      const before = there.map((severity, n) => losing(`o/old${n}`, severity));
      const join = async (...more: ReturnType<typeof losing>[]) => {
        clock.advance(HOUR_MS);
        await apply({ subject: 's3://one', summary: 'some', repositories: [...before, ...more] });
        return (await times())?.reminded ?? null;
      };
      expect(await join()).toBeNull();
      expect(await join()).toBeNull();
      const told = await join(losing('o/new', joins));
      expect(told !== null).toBe(isTold);
      // Only once, also when it leaves and comes back within a day.
      expect(await join(losing('o/new', joins))).toBe(told);
      await join();
      expect(await join(losing('o/new', joins))).toBe(told);
    },
  );
});

describe('concurrent evaluations', () => {
  it('change nothing if another one was applied since they began', async () => {
    const evaluation = await readEvaluation(database.db);
    await apply(about('o/a'));
    await apply();
    const late = await applyFindings(database.db, {
      ...{ now: clock.now(), evaluation, evaluated: ['destination_unreachable'] },
      found: [{ ...about('o/a'), rule: 'destination_unreachable' }],
    });
    expect(late).toBeNull();
    expect(await listStored(database.db)).toHaveLength(1);
  });

  it('open a single incident between them', async () => {
    const run = await insertRun(database.db, {
      status: 'failed',
      started_at: new Date(clock.now()).toISOString(),
    });
    await insertResult(database.db, run, 'o/a', { status: 'failed', fault: 'login' });
    const deps = await alertDeps(database.db, [], { clock });
    await Promise.all(Array.from({ length: 6 }, () => evaluateRules(deps)));
    expect((await listStored(database.db)).map(({ rule }) => rule)).toEqual([
      'run_failed',
      'login_expired',
    ]);
  });

  it('start over when they were overtaken', async () => {
    const deps = await alertDeps(database.db, [], { clock });
    await insertRun(database.db, {
      status: 'failed',
      started_at: new Date(clock.now()).toISOString(),
    });
    let isFirst = true;
    const overtaken: Database = {
      ...database.db,
      async query(statement, ...rest) {
        if (statement.name === 'apply_alert_findings' && isFirst) {
          isFirst = false;
          await apply();
        }
        return database.db.query(statement, ...rest);
      },
    };
    expect(await evaluateRules({ ...deps, db: overtaken })).toEqual({ opened: 1, resolved: 0 });
  });
});

it('the incidents of a rule that cannot be evaluated stay open', async () => {
  await apply(about('o/a'));
  const deps = await alertDeps(database.db, [], { clock });
  const broken: Database = {
    ...database.db,
    async query(statement, ...rest) {
      if (statement.name === 'alert_destination_unreachable') throw new Error('no such column');
      return database.db.query(statement, ...rest);
    },
  };
  expect(await evaluateRules({ ...deps, db: broken })).toEqual({ opened: 0, resolved: 0 });
  expect(deps.logged).toContainEqual(
    expect.objectContaining({ rule: 'destination_unreachable', level: 'error' }),
  );
  expect(await evaluateRules(deps)).toEqual({ opened: 0, resolved: 1 });
});
