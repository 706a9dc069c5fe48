/** What monitoring asks again and again: served under any load, and without a limit. */
export const probePaths: ReadonlySet<string> = new Set([
  '/health',
  '/healthz',
  '/ready',
  '/readyz',
  '/observatory/ready',
]);
