/**
 * The fraction of their size at which benchmarks run, from `--scale` on the command line; by default 1. At a hundredth a
 * benchmark measures nothing, but shows that it still works. Throws if it is not a fraction.
 */
export const share = readShare(process.argv);

/** A number of rounds, clients or seconds at that fraction, at least `least`. */
export function times(full: number, least = 1): number {
  return Math.max(least, Math.round(full * share));
}

/** The options of a benchmark without `--scale`. */
export function withoutShare(options: readonly string[]): string[] {
  const at = options.indexOf('--scale');
  return at < 0 ? [...options] : options.toSpliced(at, 2);
}

function readShare(options: readonly string[]): number {
  const at = options.indexOf('--scale');
  const given = at < 0 ? 1 : Number(options[at + 1]);
  if (!(given > 0 && given <= 1)) throw new Error('--scale must be above 0 and at most 1');
  return given;
}
