import { afterEach, describe, expect, it } from 'vitest';
import { describeArchiveSize, lastDays } from '../../web/src/parts/format.ts';

const AT = '2026-03-04T05:06:07.000000Z';
const failing = { archive_size_bytes: 0, failing_since: AT, last_good_at: AT };

it.each([
  ['its size', { archive_size_bytes: 790, failing_since: null, last_good_at: AT }, '790 bytes'],
  ['none', { archive_size_bytes: 0, failing_since: AT, last_good_at: null }, 'none'],
  ['none', { archive_size_bytes: 0, failing_since: null, last_good_at: AT }, 'none'],
  ['kept', { archive_size_bytes: 0, failing_since: AT, last_good_at: AT }, 'kept'],
  ['gone', { ...failing, archive: { state: 'missing', copies: 0 } }, 'gone'],
  ['in a store', { ...failing, archive: { state: 'missing', copies: 1 } }, 'in a store'],
  ['unknown', { ...failing, archive: { state: 'unknown', copies: 0 } }, 'unknown'],
])('describeArchiveSize shows %s for %j', (_what, repository, said) => {
  const archive = { state: 'there', copies: 0 };
  expect(describeArchiveSize({ archive, ...repository })).toBe(said);
});

describe('the last days', () => {
  const zone = process.env.TZ;
  afterEach(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });

  it.each([
    ['Europe/Berlin', 'both changes in a year', '2026-11-27T23:30:00Z', 365],
    ['Europe/Berlin', 'the evening before clocks are put forward', '2026-03-28T22:30:00Z', 7],
    ['Europe/Berlin', 'the first minutes after it', '2026-03-29T22:10:00Z', 7],
    ['Europe/Berlin', 'the first minutes of the long day', '2026-10-24T22:10:00Z', 7],
    ['Europe/Berlin', 'its last minutes', '2026-10-25T22:50:00Z', 7],
    ['America/Sao_Paulo', 'a day without midnight', '2018-11-04T03:10:00Z', 7],
    ['Australia/Lord_Howe', 'half an hour', '2026-10-04T12:00:00Z', 90],
    ['Pacific/Auckland', 'the south', '2026-04-05T11:59:00Z', 90],
  ])('are each there once in %s: %s', (timeZone, _case, now, count) => {
    process.env.TZ = timeZone;
    const day = new Intl.DateTimeFormat('en-CA', { timeZone });
    const names = lastDays(Date.parse(now), count).map((noon) => day.format(noon));
    const utc = (name: string) => Date.parse(`${name}T00:00:00Z`);
    expect(names.at(-1)).toBe(day.format(Date.parse(now)));
    expect(names).toHaveLength(count);
    for (const [index, name] of names.entries()) {
      expect(utc(names.at(-1) ?? '') - utc(name)).toBe((count - 1 - index) * 86_400_000);
    }
  });
});
