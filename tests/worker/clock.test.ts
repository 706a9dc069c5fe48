import { randomUUID } from 'node:crypto';
import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../lib/clock.ts';
import { timeOfNext } from '../../lib/worker/archive/versions/version-time.ts';
import { writeFolderToken } from '../../lib/worker/run/fleet/folder-token.ts';
import { findClosedPort } from '../support/down-database.ts';
import { useDatabase } from '../support/hooks.ts';
import { useVersionedApp } from '../support/versioned-app.ts';
import { callWorker } from '../support/worker.ts';

// A machine with a wrong clock must not prune versions that are minutes old.

const database = useDatabase();
const world = useVersionedApp(database);

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

const clockAhead = (ms: number): Clock => ({ ...systemClock, now: () => Date.now() + ms });

/** Writes a version, by default with ordinary retention. */
async function backUp(clock: Clock, databaseUrl = database.url, keep = '7d all, 30 daily') {
  await world.app.commit({ 'b.txt': randomUUID() }, 'change');
  const ran = await callWorker({
    ...{ databaseUrl, clock, archives: world.archives, env: { BACKUP_KEEP: keep } },
    args: ['run', '--source', world.app.path],
  });
  expect(ran.code, ran.stderr).toBe(0);
  return ran;
}

const numbers = async () => (await world.readNote()).versions.map(({ version }) => version);
const newestTime = async () => Date.parse((await world.readNote()).versions.at(-1)?.at ?? '');
const nowhere = async () => `postgres://nobody@127.0.0.1:${await findClosedPort()}/nothing`;

describe.each([
  ['ahead of', 8 * DAY_MS],
  ['behind', -8 * DAY_MS],
])('a run whose clock is days %s that of the database', (where, ms) => {
  it("prunes no versions, warns, and gives versions the database's time", async () => {
    for (let count = 0; count < 3; count++) await backUp(systemClock);
    const began = Date.now();
    const { stderr } = await backUp(clockAhead(ms), database.url, '1 daily');
    expect(stderr).toContain(
      `the clock of this machine is 192 h ${where} the database's: versions get`,
    );
    expect(stderr).toContain('no version is pruned: the clock of this machine is');
    expect(await numbers()).toEqual([1, 2, 3, 4]);
    // Both clocks have milliseconds; the database rounds its own.
    expect(await newestTime()).toBeGreaterThanOrEqual(began - 1);
    expect(await newestTime()).toBeLessThanOrEqual(Date.now() + 1);
  });
});

it('versions are pruned if the clocks differ by minutes', async () => {
  for (let count = 0; count < 3; count++) await backUp(systemClock);
  const { stderr } = await backUp(clockAhead(4 * MINUTE_MS), database.url, '1 daily');
  expect(stderr).toContain('no longer kept, as BACKUP_KEEP says');
  expect(await numbers()).toEqual([4]);
});

it('no version is pruned, without the database, while one is dated in the future', async () => {
  // A run without the database needs a known archive folder.
  await backUp(systemClock);
  await backUp(clockAhead(8 * DAY_MS), await nowhere());
  const { stderr } = await backUp(systemClock, await nowhere(), '1 daily');
  expect(stderr).toMatch(/no version is pruned: version 2 is dated \S+Z, but it is only \S+Z/);
  expect(await numbers()).toEqual([1, 2, 3]);
});

it('versions stay in order if clocks differ a little', () => {
  const at = (time: number) => new Date(time).toISOString();
  const entry = { version: 1, run_id: null, manifest_sha256: '', files: 1, ref_count: 1 };
  const last = (time: number) => [{ ...entry, at: at(time), warning: null }];
  const now = Date.parse('2026-03-04T05:06:07Z');
  expect(timeOfNext([], now)).toBe(at(now));
  expect(timeOfNext(last(now - 1), now)).toBe(at(now));
  expect(timeOfNext(last(now + 5 * MINUTE_MS), now)).toBe(at(now + 5 * MINUTE_MS));
  // The earlier clock was wrong, and this one is right.
  expect(timeOfNext(last(now + 5 * MINUTE_MS + 1), now)).toBe(at(now));
});

it('a wrong clock does not remove what other machines use in a shared folder', async () => {
  await backUp(systemClock);
  await mkdir(join(world.archives, '.scratch-other-1-abcdef'));
  await backUp(clockAhead(8 * DAY_MS));
  expect(await readdir(world.archives)).toContain('.scratch-other-1-abcdef');
});

it('tokens of shared runs are removed by the clock of their folder', async () => {
  await mkdir(world.archives, { recursive: true });
  const [young, old] = ['a', 'b'].map((letter) => `.fleet-${letter.repeat(32)}`) as [
    string,
    string,
  ];
  for (const name of [young, old]) await writeFile(join(world.archives, name), '');
  const longAgo = new Date(Date.now() - DAY_MS - MINUTE_MS);
  await utimes(join(world.archives, old), longAgo, longAgo);
  const token = await writeFolderToken(world.archives);
  expect((await readdir(world.archives)).sort()).toEqual([young, `.fleet-${token}`].sort());
});
