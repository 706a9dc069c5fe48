import { configDefaults, defineConfig } from 'vitest/config';

/**
 * One process runs many files of these folders and loads only once what they all load. The other folders start
 * git or commands all the time, which takes longer the more memory a process has, or load modules that read its
 * environment: there each file has a process of its own.
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
  // Most of a file's time is its database's, which is another process or WebAssembly on the same cores.
  pool: 'forks',
  maxWorkers: 2,
  // Generous: a slow machine is no failure.
  testTimeout: 90_000,
  hookTimeout: 120_000,
  // What starts browsers, servers and processes on a busy machine may fail by bad luck, a defect fails twice. Vitest
  // marks what passed only then, and the check run lists it.
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
