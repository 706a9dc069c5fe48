import { expect, it } from 'vitest';
import { describeFailures } from '../../../lib/worker/run/watching/failures.ts';

const failure = (repository: string, kind: 'network' | 'login') => ({
  ...{ repository, kind },
  errorMessage: 'x',
});

it('describeFailures groups failures by reason, largest group first, and says what to do', () => {
  const failures = [failure('a/a', 'network'), failure('a/b', 'login'), failure('a/c', 'login')];
  expect(describeFailures(failures)).toEqual([
    'Failed, access was denied: a/b, a/c',
    '  log in again (npm run worker -- login github), or check the credentials of git',
    'Failed, the network failed: a/a',
    '  check the connection; nothing, if the next run succeeds',
  ]);
});

it('describeFailures names at most ten repositories of a group', () => {
  const many = Array.from({ length: 12 }, (_, index) => failure(`a/r${index}`, 'login'));
  expect(describeFailures(many)[0]).toMatch(/: a\/r0, .*a\/r9 and 2 more$/);
});

it('describeFailures tells sources that were never read apart, and has none of them forgotten', () => {
  const unread = { source: '/srv/xx', kind: 'missing', errorMessage: 'x' } as const;
  expect(describeFailures([failure('a/a', 'network')], [unread])).toEqual([
    'Failed, the network failed: a/a',
    expect.stringContaining('check the connection'),
    'Source not read, not found, or access lost: /srv/xx',
    expect.stringMatching(/^ {2}check the path or address in --source, (?!.*forget)/),
  ]);
});

it('describeFailures returns nothing if nothing failed', () => {
  expect(describeFailures([])).toEqual([]);
});
