/** Something to repeat, and how long it took each time, in nanoseconds. */
export interface Sampled {
  name: string;
  act(): unknown;
}

/**
 * Does each of several things this many times, alternating so that noise affects all alike. Returns for each the time
 * that nine out of ten exceeded, because noise only ever adds to a time.
 */
export async function sample(things: readonly Sampled[], rounds: number): Promise<number[]> {
  const taken = things.map(({ act }) => ({ act, times: [] as number[] }));
  for (const { act } of taken) for (let n = 0; n < 2; n += 1) await act();
  for (let round = 0; round < rounds; round += 1) {
    const from = round % taken.length;
    for (const { act, times } of [...taken.slice(from), ...taken.slice(0, from)]) {
      const start = process.hrtime.bigint();
      // Not all of them are promises, and awaiting one takes time of its own.
      const done = act();
      if (done instanceof Promise) await done;
      times.push(Number(process.hrtime.bigint() - start));
    }
  }
  return taken.map(({ times }) => times.toSorted((a, b) => a - b)[Math.floor(rounds / 10)] ?? 0);
}

/** By how much the longest of some times exceeds the shortest, as a fraction. */
export function spreadOf(times: readonly number[]): number {
  return Math.max(...times) / Math.min(...times) - 1;
}

/** Prints what was measured. */
export function printTimes(things: readonly Sampled[], times: readonly number[]): void {
  const each = things.map(
    ({ name }, index) => `${name} ${((times[index] ?? 0) / 1e3).toFixed(1)} µs`,
  );
  const spread = (spreadOf(times) * 100).toFixed(2);
  process.stdout.write(`timing: ${each.join(', ')}; spread ${spread}%\n`);
}
