import { configDefaults, defineConfig } from 'vitest/config';

/**
 * One process runs many test files of these folders, so that shared modules are loaded only once. In the other folders each
 * file has its own process: they keep starting git or other commands, which takes longer the more memory a process has, or
 * load modules that read its environment.
 */
const together = [
  'alerts',
  'async',
  'backups',
  'config',
  'database',
  'drizzle',
  'gateway',
  'http',
  'live',
  'mcp',
  'observatory',
  'rate-limits',
  'records',
  'search',
  'surfaces',
  'text',
  'tools',
].map((folder) => `tests/${folder}/**/*.test.ts`);

const shared = {
  environment: 'node',
  // Most of a test file's time is spent in its database, a separate process or WebAssembly on the same cores.
  pool: 'forks',
  maxWorkers: 2,
  // Generous, so that a slow machine causes no failures.
  testTimeout: 90_000,
  hookTimeout: 120_000,
  // Tests that start browsers, servers and processes on a busy machine may fail by bad luck; a defect fails twice. Vitest
  // marks tests that passed only on the retry, and the check run lists them.
  retry: 1,
} as const;

export default defineConfig({
  test: {
    globalSetup: ['tests/support/shared-postgres.ts'],
    maxWorkers: 2,
    projects: [
      {
        test: {
          ...shared,
          name: 'alone',
          include: ['tests/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...together],
        },
      },
      { test: { ...shared, name: 'together', include: together, isolate: false } },
    ],
  },
});
