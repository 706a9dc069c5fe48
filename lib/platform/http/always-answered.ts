/** What tells how the process is, or needs no database: answered first, and whatever the load. */
export const alwaysAnswered: ReadonlySet<string> = new Set([
  '/health',
  '/healthz',
  '/ready',
  '/readyz',
  '/observatory/ready',
  '/metrics',
  '/docs',
  '/openapi.json',
]);
