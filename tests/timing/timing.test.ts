import { describe, expect, it } from 'vitest';
import {
  isTimeZone,
  lastTime,
  nextTime,
  parseTiming,
  TimingFault,
} from '../../lib/timing/timing.ts';

const HOUR = 3_600_000;

describe('an interval', () => {
  it.each([
    ['1m', 60_000],
    ['30m', 30 * 60_000],
    ['24h', 24 * HOUR],
    ['8w', 8 * 7 * 24 * HOUR],
    ['365d', 365 * 24 * HOUR],
    ['every 6 hours', 6 * HOUR],
    ['Every hour', HOUR],
    ['every 15 minutes', 15 * 60_000],
    ['every 90 min', 90 * 60_000],
    ['every 2 days', 48 * HOUR],
    ['every week', 7 * 24 * HOUR],
    ['hourly', HOUR],
    ['daily', 24 * HOUR],
  ])('%s', (text, intervalMs) => {
    expect(parseTiming(` ${text} `)).toEqual({ text, cron: null, intervalMs });
  });
});

describe('a time of the clock', () => {
  it.each([
    ['daily at 02:30', '30 2 * * *'],
    ['every day at 2:30', '30 2 * * *'],
    ['at noon', '0 12 * * *'],
    ['daily at midnight', '0 0 * * *'],
    ['daily at 2:30 and 14:30', '30 2,14 * * *'],
    ['weekdays at 22:00', '0 22 * * 1-5'],
    ['on weekends at 10 pm', '0 22 * * 0,6'],
    ['Sundays at 03:00', '0 3 * * 0'],
    ['every Sunday at 3am', '0 3 * * 0'],
    ['Mondays and Thursdays at 12:15 am', '15 0 * * 1,4'],
    ['mon, wed, fri at 01:00', '0 1 * * 1,3,5'],
    ['weekly at 04:00', '0 4 * * 0'],
    ['weekly on Saturday at 04:00', '0 4 * * 6'],
    ['monthly on the 1st at 03:00', '0 3 1 * *'],
    ['monthly at 03:00', '0 3 1 * *'],
    ['every month on the 15th at 03:00', '0 3 15 * *'],
    ['30 2 * * *', '30 2 * * *'],
    ['0 */6 * * *', '0 0,6,12,18 * * *'],
    ['*/20 1-5/2 * * *', '0,20,40 1,3,5 * * *'],
    ['*/5 * * * *', '*/5 * * * *'],
    ['0 3 * * MON-FRI', '0 3 * * MON-FRI'],
  ])('%s', (text, cron) => {
    expect(parseTiming(text)).toMatchObject({ text, cron });
  });

  it.each([
    ['daily at 02:30', 24],
    ['weekdays at 22:00', 72],
    ['Sundays at 03:00', 7 * 24],
    ['monthly at 03:00', 31 * 24],
    ['*/5 9-17 * * 1-5', 63 + 5 / 60],
    ['0 3 1 1 *', 366 * 24],
  ])('%s is at most %d hours apart', (text, hours) => {
    expect(parseTiming(text).intervalMs).toBe(hours * HOUR);
  });
});

describe('a text that is no timing', () => {
  it.each([
    '',
    '0h',
    '-1h',
    '1.5h',
    '1h30m',
    '367d',
    'every 0 minutes',
    'every 500 days',
    'tomorrow',
    'daily at',
    'daily at 25:00',
    'daily at 2:60',
    'daily at 13pm',
    'daily at 3',
    'someday at 03:00',
    'daily at 2:30 and 14:45',
    'monthly on the 31st at 03:00',
    'monthly on the 1st 2nd at 03:00',
    '0 3 * *',
    '0 3 * * * *',
    '@daily',
    '61 * * * *',
    '? * * * *',
    '*/0 * * * *',
    '0 0 30 2 *',
    '0 0 31 4,6 *',
    '0 0 29 2 *',
    `${'1,'.repeat(60)}1 * * * *`,
  ])('%s', (text) => {
    expect(() => parseTiming(text)).toThrow(TimingFault);
  });
});

describe('where clocks change', () => {
  const times = (text: string, zone: string, from: string, count: number) => {
    const { cron } = parseTiming(text);
    const found: string[] = [];
    for (let at = Date.parse(from); found.length < count; ) {
      at = nextTime(cron ?? '', zone, at);
      found.push(new Date(at).toISOString().slice(0, 16));
    }
    return found;
  };

  it.each([
    [
      'daily at 02:30',
      'Europe/Berlin',
      '2026-03-28T12:00Z',
      ['2026-03-29T01:00', '2026-03-30T00:30'],
    ],
    [
      '*/15 2 * * *',
      'Europe/Berlin',
      '2026-03-28T12:00Z',
      ['2026-03-29T01:00', '2026-03-30T00:00'],
    ],
    ['0 */2 * * *', 'Europe/Berlin', '2026-03-28T23:30Z', ['2026-03-29T01:00', '2026-03-29T02:00']],
    [
      'Sundays at 2:30 am',
      'America/New_York',
      '2026-03-07T12:00Z',
      ['2026-03-08T07:00', '2026-03-15T06:30'],
    ],
    [
      'daily at 02:15',
      'Australia/Lord_Howe',
      '2026-10-03T00:00Z',
      ['2026-10-03T15:30', '2026-10-04T15:15'],
    ],
  ])('%s in %s happens once right after the gap', (text, zone, from, expected) => {
    expect(times(text, zone, from, 2)).toEqual(expected);
  });

  it.each([
    [
      'daily at 02:30',
      'Europe/Berlin',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:30', '2026-10-26T01:30'],
    ],
    [
      'daily at 01:30',
      'America/New_York',
      '2026-10-31T12:00Z',
      ['2026-11-01T05:30', '2026-11-02T06:30'],
    ],
    [
      'daily at 01:45',
      'Australia/Lord_Howe',
      '2026-04-04T00:00Z',
      ['2026-04-04T14:45', '2026-04-05T15:15'],
    ],
    ['0 */2 * * *', 'Europe/Berlin', '2026-10-24T23:30Z', ['2026-10-25T00:00', '2026-10-25T03:00']],
  ])('%s in %s happens once in the hour that comes twice', (text, zone, from, expected) => {
    expect(times(text, zone, from, 2)).toEqual(expected);
  });

  it('an hour that comes twice has the times of every hour twice', () => {
    expect(times('*/30 * * * *', 'Europe/Berlin', '2026-10-25T00:00Z', 4)).toEqual([
      '2026-10-25T00:30',
      '2026-10-25T01:00',
      '2026-10-25T01:30',
      '2026-10-25T02:00',
    ]);
  });

  it('the last time is the one at or before a moment', () => {
    const at = Date.parse('2026-10-25T00:30:00Z');
    expect(lastTime('30 2 * * *', 'Europe/Berlin', at)).toBe(at);
    expect(lastTime('30 2 * * *', 'Europe/Berlin', at + 90 * 60_000)).toBe(at);
    expect(lastTime('30 2 * * *', 'Europe/Berlin', at - 1)).toBe(at - 24 * HOUR);
  });
});

it('knows which time zones there are', () => {
  expect(['Europe/Berlin', 'UTC', 'America/New_York', 'Nowhere/Town', ''].map(isTimeZone)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});
