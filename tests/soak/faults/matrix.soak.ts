import { describe, expect, it, type TestContext } from 'vitest';
import { type Fault, faults } from '../../support/fault-proxy.ts';
import { hasRedisServer } from '../../support/redis-server.ts';
import { isLong } from '../size.ts';
import { limits, type Outcomes, outcomes, type Part, parts, type Use, uses } from './outcomes.ts';
import { isInTime, isRecovered, type Pace, paceOf, type Result, runFault } from './run-fault.ts';
import { serverSurfaces } from './server-surfaces.ts';
import { type ServerPart, serverParts, startServerWorld } from './server-world.ts';
import type { Surface } from './surface.ts';
import { clone, discover, logIn, startRun, underWayRun } from './worker-surfaces.ts';
import { startDatabaseWorld, startHostWorld, type WorkerWorld } from './worker-worlds.ts';

// Breaks every external service in every way, under every use of it.

/** Resources that a server may keep besides idle connections: timers of the pool, sockets of clients. */
const IDLE_RESOURCES = 60;

/** The outcomes of all uses of a part under one fault. */
type Seen = Partial<Record<Use, { seen: string; stored: string; fault?: string }>>;

// Neon's endpoint breaks like Postgres, except for its driver, which has tests of its own.
if (!isLong) {
  console.info('skipped without --long: resets, pages, slow services; Neon; a git host that hangs');
}
const triedParts = serverParts.filter((part) => isLong || part !== 'neon');
/** The parts whose faults take longest are tried twice at once, each time with half of the faults. */
const allHalves: readonly (readonly Fault[])[] = [
  ['refuses', 'resets', 'hangs'],
  ['garbage', 'page', 'slow'],
];
/** A service that is down, that does not answer, or that is another one. */
const shortHalves: typeof allHalves = [['hangs'], ['refuses', 'garbage']];
const halves = isLong ? allHalves : shortHalves;
const inHalves = <Name extends Part>(part: Name) => halves.map((half) => [part, half] as const);
/** Three minutes of silence take too long here: the worker's retries and git's time limits cannot be shortened. */
const triedHosts: (readonly [Part, readonly Fault[]])[] = isLong
  ? inHalves('gitHost')
  : [
      ['gitHost', ['refuses']],
      ['gitHost', ['garbage']],
    ];
type Tried = readonly [ServerPart, readonly Fault[]];
const triedServers = triedParts.flatMap((part): Tried[] =>
  part === 'postgres' || part === 'neon' ? inHalves(part) : [[part, halves.flat()]],
);
const triedDatabases = isLong ? (['postgres', 'neon'] as const) : (['postgres'] as const);

/** Describes other problems: too late, not recovered, an error. */
function faultOf(result: Result, limit: number, pace: Pace): string | undefined {
  const { outcome, answeredAfterMs, recoveredAfterMs } = result;
  if (outcome instanceof Error) return outcome.message;
  if (!isInTime(result, limit, pace)) return `answered after ${Math.round(answeredAfterMs)} ms`;
  if (!isRecovered(result, pace)) return `recovered after ${Math.round(recoveredAfterMs)} ms`;
  return undefined;
}

/** Tries all uses, and compares them with the stated outcomes in a single assertion. */
async function compare<On>(
  part: Part,
  fault: Fault,
  world: { proxy: WorkerWorld<On>['proxy']; ground: On },
  surfaces: Partial<Record<Use, Surface<On>>>,
  pace: Pace,
): Promise<void> {
  const tried = surfaces as Record<Use, Surface<On>>;
  const results = await runFault(fault, world.proxy, world.ground, tried);
  const seen: Seen = {};
  const stated: Record<string, unknown> = {};
  for (const [name, result] of Object.entries(results) as [Use, Result][]) {
    const cell = cellOf(outcomes[part][name], fault);
    const wrong = faultOf(result, limits[cell.limit].seconds, pace);
    const { outcome } = result;
    const what = outcome instanceof Error ? { seen: '', stored: '' } : outcome;
    seen[name] = wrong === undefined ? what : { ...what, fault: wrong };
    stated[name] = { seen: anyOf(cell.seen), stored: anyOf(cell.stored) };
  }
  expect(seen, `${parts[part]} ${fault}`).toEqual(stated);
}

function cellOf(of: Outcomes, fault: Fault) {
  if (of !== 'not used') return of[fault];
  return { seen: 'works', stored: [], limit: 'database' } as const;
}

/** The observed outcome if it is one of several valid ones; otherwise the first of these. */
function anyOf(value: string | readonly string[]): unknown {
  if (typeof value === 'string') return value;
  if (value.length === 0) return expect.any(String);
  return expect.toSatisfy((seen: string) => value.includes(seen), value.join(' or '));
}

const isUsed = (part: Part) => (use: string) => outcomes[part][use as Use] !== 'not used';

function pick<On>(surfaces: Record<string, Surface<On>>, chosen: (use: string) => boolean) {
  return Object.fromEntries(Object.entries(surfaces).filter(([use]) => chosen(use)));
}

describe.concurrent('the fault matrix', () => {
  it('tries every fault with --long', () => {
    expect(allHalves.flat().sort()).toEqual([...faults].sort());
  });

  it('states an outcome for every use of each part under each fault', () => {
    expect(Object.keys(outcomes)).toEqual(Object.keys(parts));
    for (const [part, stated] of Object.entries(outcomes)) {
      expect(Object.keys(stated).sort(), part).toEqual(Object.keys(uses).sort());
      for (const cells of Object.values(stated)) {
        if (cells !== 'not used') expect(Object.keys(cells)).toEqual(faults);
      }
    }
    const tried = [
      ...Object.keys(serverSurfaces),
      ...Object.keys({ startRun, underWayRun, discover, clone, logIn }),
    ];
    expect(tried.sort()).toEqual(Object.keys(uses).sort());
  });

  it.for(triedHosts)(
    'has the stated outcomes for a worker whose %s breaks: %s',
    async ([part, tried], { onTestFinished }) => {
      const world = await startHostWorld();
      onTestFinished(world.close);
      const surfaces = { discover, clone, logIn };
      const pace = paceOf(await runFault(null, world.proxy, world.ground, surfaces));
      for (const fault of tried) await compare(part, fault, world, surfaces, pace);
    },
  );

  it.for(triedServers)(
    'has the stated outcomes for a server whose %s breaks: %s',
    async ([part, tried], { onTestFinished }) => {
      if (part === 'redis' && !hasRedisServer) {
        throw new Error('redis-server is not installed: its faults cannot be tried');
      }
      await tryServer(part, tried, onTestFinished);
    },
  );

  it.for(triedDatabases.flatMap((part) => inHalves(part)))(
    'has the stated outcomes for a worker whose %s breaks: %s',
    async ([part, tried], { onTestFinished }) => {
      const world = await startDatabaseWorld(part);
      onTestFinished(world.close);
      const surfaces = { startRun, underWayRun };
      const pace = paceOf(await runFault(null, world.proxy, world.ground, surfaces));
      for (const fault of tried) await compare(part, fault, world, surfaces, pace);
    },
  );
});

async function tryServer(
  part: ServerPart,
  tried: readonly Fault[],
  onTestFinished: TestContext['onTestFinished'],
): Promise<void> {
  const world = await startServerWorld(part);
  let isClosed = false;
  onTestFinished(async () => {
    if (!isClosed) await world.close();
  });
  const { server, proxy } = world;
  const showEnd = (error: unknown) => {
    if (server.isAlive()) throw error;
    throw new Error(`the server ended: ${server.output().slice(-4_000)}`, { cause: error });
  };
  const before = await server.resources();
  const surfaces: Record<string, Surface> = serverSurfaces;
  const used = pick(surfaces, isUsed(part));
  const unused = pick(surfaces, (use) => !isUsed(part)(use));
  const pace = paceOf(await runFault(null, proxy, world.groundFor('slow', 'before'), used));
  for (const fault of tried) {
    const on = { proxy, ground: world.groundFor(fault) };
    await compare(part, fault, on, used, pace).catch(showEnd);
  }
  if (tried.includes('refuses') && Object.keys(unused).length > 0) {
    const on = { proxy, ground: world.groundFor('refuses', 'unused') };
    await compare(part, 'refuses', on, unused, pace).catch(showEnd);
  }

  expect(server.isAlive(), server.output()).toBe(true);
  const after = await server.resources();
  const total = (counts: Record<string, number>) =>
    Object.values(counts).reduce((sum, count) => sum + count, 0);
  expect(total(after) - total(before), JSON.stringify(after)).toBeLessThan(IDLE_RESOURCES);
  // The pool's connections, or those that fetch keeps open.
  expect(proxy.open()).toBeLessThanOrEqual(30);
  isClosed = true;
  const code = await world.close();
  expect(code, 'the server ends by itself').toBe(0);
  expect(server.output()).not.toMatch(/unhandled|uncaught/i);
  // All clients have left: a request that is still open was left hanging forever by a fault.
  expect(server.output()).not.toMatch(/cut off by the shutdown","requests":[1-9]/);
}
