import { expect, it } from 'vitest';
import { createHostLimits, type Visit } from '../../../lib/worker/run/host-limits.ts';

/** How many repositories of a host fit at once. */
function room(hosts: ReturnType<typeof createHostLimits>, host: string): number {
  const leaves: ((visit: Visit) => void)[] = [];
  while (hosts.hasRoom(host) && leaves.length < 100) leaves.push(hosts.enter(host));
  for (const leave of leaves) leave('other');
  return leaves.length;
}

it('a host starts with all places, and local folders have no limit', () => {
  const hosts = createHostLimits(4);
  expect(room(hosts, 'a')).toBe(4);
  for (let count = 0; count < 10; count++) hosts.enter(null);
  expect(hosts.hasRoom(null)).toBe(true);
});

it('an overloaded host loses half its places, down to one, and other hosts lose none', () => {
  const hosts = createHostLimits(8);
  const halves = [4, 2, 1, 1];
  for (const half of halves) {
    hosts.enter('a')('overloaded');
    expect(room(hosts, 'a')).toBe(half);
  }
  expect(room(hosts, 'b')).toBe(8);
});

it('overloads of visits that were under way together halve the places only once', () => {
  const hosts = createHostLimits(8);
  const leaves = Array.from({ length: 8 }, () => hosts.enter('a'));
  for (const leave of leaves) leave('overloaded');
  expect(room(hosts, 'a')).toBe(4);
});

it('a host regains a place after as many good visits as it has places, up to the maximum', () => {
  const hosts = createHostLimits(4);
  hosts.enter('a')('overloaded');
  const rooms = Array.from({ length: 7 }, () => {
    hosts.enter('a')('good');
    return room(hosts, 'a');
  });
  expect(rooms).toEqual([2, 3, 3, 3, 4, 4, 4]);
});

it('neither other failures nor visits before an overload count as good', () => {
  const hosts = createHostLimits(4);
  hosts.enter('a')('overloaded');
  hosts.enter('a')('good');
  hosts.enter('a')('other');
  hosts.enter('a')('overloaded');
  expect(room(hosts, 'a')).toBe(1);
  hosts.enter('a')('good');
  expect(room(hosts, 'a')).toBe(2);
});
