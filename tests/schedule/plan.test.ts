import { describe, expect, it } from 'vitest';
import type { CoveringRun, DueSchedule } from '../../lib/records/schedules/due.ts';
import { nextDue, upcomingTimes } from '../../lib/schedule/plan.ts';

const HOUR = 3_600_000;
const at = (text: string) => Date.parse(`${text}Z`);
const now = at('2026-03-04T10:00');

const schedule = (timing: string, more: Partial<DueSchedule> = {}): DueSchedule => ({
  id: 1,
  timing,
  timeZone: 'UTC',
  intervalMs: 24 * HOUR,
  variableOf: null,
  since: at('2026-01-01T00:00'),
  nextAt: null,
  claimedFor: null,
  startedAt: null,
  ...more,
});
const run = (startedAt: number, more: Partial<CoveringRun> = {}): CoveringRun => ({
  startedAt,
  scheduleId: null,
  intervalMs: null,
  ...more,
});
const due = (it: DueSchedule, coveringRuns: CoveringRun[] = []) =>
  new Date(nextDue(it, { coveringRuns }, now)).toISOString().slice(0, 16);

describe('an interval', () => {
  const daily = (more: Partial<DueSchedule> = {}) => schedule('24h', more);

  it('is due at once before the first run', () => {
    expect(due(daily({ since: now }))).toBe('2026-03-04T10:00');
  });

  it('counts from the start of the last run', () => {
    expect(due(daily({ startedAt: at('2026-03-04T08:00') }))).toBe('2026-03-05T08:00');
  });

  it('does not creep by the seconds that a worker takes to start', () => {
    const claimedFor = at('2026-03-04T08:00');
    expect(due(daily({ startedAt: claimedFor + 3_000, claimedFor }))).toBe('2026-03-05T08:00');
  });

  it('is due once after a week without runs', () => {
    expect(due(daily({ startedAt: at('2026-02-25T08:00') }))).toBe('2026-02-26T08:00');
  });

  it('lets another scheduler go first, and steps in when that is late', () => {
    const startedAt = at('2026-03-03T08:00');
    expect(due(daily({ startedAt }), [run(at('2026-03-04T02:00'))])).toBe('2026-03-05T04:00');
  });
});

describe('a time of the clock', () => {
  const nightly = (more: Partial<DueSchedule> = {}) => schedule('daily at 02:30', more);

  it('is due if no run has begun since', () => {
    expect(due(nightly({ startedAt: at('2026-03-03T02:30') }))).toBe('2026-03-04T02:30');
  });

  it('is due once after a week without runs', () => {
    expect(due(nightly({ startedAt: at('2026-02-25T02:30') }))).toBe('2026-03-04T02:30');
  });

  it('is not due for a time before the schedule was made', () => {
    expect(due(nightly({ since: at('2026-03-04T09:00') }))).toBe('2026-03-05T02:30');
  });

  it('is over once its run has begun, however late', () => {
    expect(due(nightly({ startedAt: at('2026-03-04T09:59') }))).toBe('2026-03-05T02:30');
  });

  it.each([
    ['of the schedule of another server', '2026-03-03T05:00', { scheduleId: 2 }, true],
    ['of --every that comes as often', '2026-03-03T05:00', { intervalMs: 24 * HOUR }, true],
    ['of --every that comes once a week', '2026-03-03T05:00', { intervalMs: 168 * HOUR }, false],
    [
      'of --every once a week, shortly before',
      '2026-03-04T01:00',
      { intervalMs: 168 * HOUR },
      true,
    ],
    ['of cron, shortly before', '2026-03-04T01:00', {}, true],
    ['of a script on the day before', '2026-03-03T05:00', {}, false],
    ['of cron, later', '2026-03-04T04:00', {}, true],
    ['two days ago', '2026-03-02T05:00', { scheduleId: 2 }, false],
  ] as const)('takes a run %s into account', (_whose, startedAt, more, isServed) => {
    const own = nightly({ startedAt: at('2026-03-03T02:30') });
    expect(due(own, [run(at(startedAt), more)])).toBe(
      isServed ? '2026-03-05T02:30' : '2026-03-04T02:30',
    );
  });

  it('is that of its time zone', () => {
    expect(due(nightly({ timeZone: 'Asia/Tokyo', since: now }))).toBe('2026-03-04T17:30');
  });
});

it('lists the times that follow', () => {
  const first = at('2026-03-28T01:30');
  const times = (timing: string) =>
    upcomingTimes(timing, 'Europe/Berlin', first, 3).map((time) => new Date(time).toISOString());
  expect(times('daily at 02:30')).toEqual([
    '2026-03-28T01:30:00.000Z',
    '2026-03-29T01:00:00.000Z',
    '2026-03-30T00:30:00.000Z',
  ]);
  expect(times('6h')[2]).toBe('2026-03-28T13:30:00.000Z');
});
