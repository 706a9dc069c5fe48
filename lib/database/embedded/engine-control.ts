/** Where in the shared memory: not 0 while the running batch is to be canceled. */
export const INTERRUPT = 0;

/** Where in the shared memory: by how many milliseconds the clock of the running batch is ahead. */
export const AHEAD_MS = 1;
