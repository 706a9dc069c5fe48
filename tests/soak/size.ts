/** Whether the suite runs at the size for a person's patience (`npm run soak -- --long`) or the check run's. */
export const isLong = process.env.SOAK_SIZE === 'long';

/** How often something is tried: a few times in the check run, many times by hand. */
export const times = (short: number, long: number) => (isLong ? long : short);

/** Where the random choices begin. A run prints it, and `--seed` repeats them. */
export const seed = Number(process.env.SOAK_SEED);
