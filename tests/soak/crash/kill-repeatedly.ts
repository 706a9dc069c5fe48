import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { seed, times } from '../size.ts';

/** A process in the middle of its work. */
export interface Victim {
  child: ChildProcess;
  /** Settles when the work is done, if the process continues afterwards. */
  done?: Promise<unknown>;
  /** Reads the remaining output after the kill. */
  said?(): string;
}

export interface Scenario {
  /** Resolves when the work begins. */
  begin(): Promise<Victim>;
  /** Checks what must hold after a kill at any moment, and resets everything for the next one. */
  check(victim: Victim): Promise<void>;
}

/** Factor by which the assumed duration grows after each kill that came before the end. */
const GROWTH = 1.1;

/**
 * Runs the work once undisturbed to measure its duration. Then kills it repeatedly, each time after a random part of
 * that duration, and checks what is left. Errors contain the moment and the seed.
 */
export async function killRepeatedly(
  name: string,
  { begin, check }: Scenario,
  kills = times(4, 100),
): Promise<void> {
  const random = createRandom(name);
  const whole = await begin();
  const startedAt = performance.now();
  await workOf(whole);
  let lastsMs = performance.now() - startedAt;
  whole.child.kill('SIGTERM');
  await ended(whole.child);
  await check(whole);

  let late = 0;
  for (let kill = 1; kill <= kills; kill += 1) {
    const ofMs = lastsMs;
    const afterMs = random() * ofMs;
    try {
      const victim = await begin();
      const endedAfterMs = await timeWithin(afterMs, workOf(victim));
      victim.child.kill('SIGKILL');
      await ended(victim.child);
      if (endedAfterMs !== null) late += 1;
      // The first run is slower than the others, and the speed of a busy machine varies.
      lastsMs = endedAfterMs ?? ofMs * GROWTH;
      await check(victim);
    } catch (error) {
      const when = `kill ${kill} after ${afterMs.toFixed(1)} of ${ofMs.toFixed(1)} ms`;
      throw new Error(`${name}: ${when}, --seed ${seed}: ${String(error)}`, { cause: error });
    }
  }
  // A kill after the end proves nothing.
  if (late > (kills * 2) / 3)
    throw new Error(`${name}: ${late} of ${kills} kills came after the work had ended`);
}

/** Settles when the work of a victim is done. */
const workOf = ({ child, done }: Victim): Promise<unknown> => done ?? ended(child);

/** Resolves with null after that many milliseconds, or with the elapsed time if the work ended before. */
async function timeWithin(ms: number, work: Promise<unknown>): Promise<number | null> {
  const startedAt = performance.now();
  const over = new Promise<null>((done) => setTimeout(done, ms, null));
  return Promise.race([over, work.then(() => performance.now() - startedAt)]);
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

/** Seeded random numbers from 0 to 1, different for each name (mulberry32). */
export function createRandom(name: string): () => number {
  let state = [...name].reduce((sum, letter) => Math.imul(sum, 31) + letter.charCodeAt(0), seed);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Runs at most two pieces of work at once: each has its own process, and the machine may have two cores. */
export function createLanes(): <Value>(work: () => Promise<Value>) => Promise<Value> {
  let free = 2;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free === 0) await new Promise<void>((next) => waiting.push(next));
    else free -= 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}
