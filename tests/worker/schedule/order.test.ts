import { expect, it } from 'vitest';
import { type HostFacts, parseLocation, type Source } from '../../../lib/worker/base/source.ts';
import { hostOf, longestFirst } from '../../../lib/worker/run/order.ts';

const sized = (name: string, sizeBytes: number | null): Source => ({
  ...parseLocation(`https://example.org/${name}`, '/'),
  host: { sizeBytes } as HostFacts,
});

it('a run starts with repositories never backed up, by size, followed by the others, by last duration', () => {
  const sources = [
    parseLocation('h:a/quick', '/'),
    sized('a/small', 10),
    parseLocation('h:a/slow', '/'),
    sized('a/unknown', null),
    sized('a/large', 1_000),
  ];
  const durations = new Map([
    ['a/quick', 5],
    ['a/slow', 9_000],
  ]);
  expect(longestFirst(sources, durations).map(({ name }) => name)).toEqual([
    'a/large',
    'a/small',
    'a/unknown',
    'a/slow',
    'a/quick',
  ]);
});

it.each([
  ['https://Example.org/team/app.git', 'example.org'],
  ['https://example.org:8443/team/app', 'example.org:8443'],
  ['ssh://git@example.org:22/team/app', 'example.org:22'],
  ['git@Example.org:team/app.git', 'example.org'],
  ['git@[2001:db8::1]:team/app', '[2001:db8::1]'],
  ['example.org:app', 'example.org'],
  ['/srv/git/app.git', null],
])('%s is on the host %s', (location, host) => {
  expect(hostOf(parseLocation(location, '/'))).toBe(host);
});
