import { expect, it } from 'vitest';
import { describeArchiveSize } from '../../web/src/parts/format.ts';

const AT = '2026-03-04T05:06:07.000000Z';

it.each([
  ['its size', { archive_size_bytes: 790, failing_since: null, last_good_at: AT }, '790 bytes'],
  ['none', { archive_size_bytes: 0, failing_since: AT, last_good_at: null }, 'none'],
  ['none', { archive_size_bytes: 0, failing_since: null, last_good_at: AT }, 'none'],
  ['kept', { archive_size_bytes: 0, failing_since: AT, last_good_at: AT }, 'kept'],
])('describeArchiveSize shows %s for %j', (_what, repository, said) => {
  expect(describeArchiveSize(repository)).toBe(said);
});
