/**
 * Flags of Node.js for the processes of tests, which live for seconds. Without optimized code and with few garbage
 * collections they take a tenth less processor time; an embedded database takes 0.8 s instead of 1.4 to start and
 * answer. They are the same everywhere, because the compile cache is only read with the flags of its writer.
 *
 * The first heap holds what most test files need. A larger one makes each start of git slower, and so does more room
 * for new objects: a fork copies the page tables of all memory in use.
 */
export const nodeFlags: readonly string[] = [
  '--liftoff-only',
  '--no-opt',
  '--no-maglev',
  '--single-threaded-gc',
  '--max-semi-space-size=4',
  '--initial-old-space-size=100',
];
