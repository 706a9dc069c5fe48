/**
 * Why a run failed as a whole, as far as other parts ask for it:
 *
 * - `no_archives`: the archive folder had none of the recorded archives.
 * - `starter_gone`: the worker that was to list the repositories of a shared run no longer takes part.
 * - `stale`: its worker showed no sign of life.
 */
export const runFaults = ['no_archives', 'starter_gone', 'stale'] as const;
export type RunFault = (typeof runFaults)[number];
