/** Whether the suite runs in its long form (`npm run soak -- --long`) or in the short form of the check run. */
export const isLong = process.env.SOAK_SIZE === 'long';

/** The number of repetitions: few in the check run, many with --long. */
export const times = (short: number, long: number) => (isLong ? long : short);

/** The random seed. A run prints it, and `--seed` repeats it. */
export const seed = Number(process.env.SOAK_SEED);
if (!Number.isInteger(seed)) throw new Error('SOAK_SEED is missing: use npm run soak');
